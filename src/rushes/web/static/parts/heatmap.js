// How much text there is along a film, in grey, and where it answers a question, in yellow.

import { html } from "../lib.js";

const HEIGHT = 52;
const LEAST = 2; // so that the line of time is seen where there is nothing

/** `heat` has {texts, hits}, one number for each part of the film. */
export function HeatMap({ heat, className, label }) {
  const texts = heat?.texts ?? [];
  const most = Math.max(1, ...texts);
  const high = (n) => LEAST + ((HEIGHT - LEAST) * 0.9 * n) / most;
  return html`
    <svg class=${className} viewBox=${`0 0 ${4 * Math.max(texts.length, 1)} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label}>
      ${heat?.hits?.map((n, at) => n > 0 && html`<rect class="hit" x=${4 * at - 2} y="0" width="7" height=${HEIGHT} />`)}
      ${texts.map((n, at) => html`<rect class=${heat.hits?.[at] ? "h" : "d"} x=${4 * at} y=${HEIGHT - high(n)} width="3" height=${high(n)} />`)}
    </svg>
  `;
}
