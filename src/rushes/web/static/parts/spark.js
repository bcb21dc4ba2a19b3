// What was, in small: bars for how many of something came, a curve for how much there was. The newest
// stands at the end.

import { html } from "../lib.js";

const [WIDTH, HEIGHT, STEP] = [7, 24, 9.6];
const LEAST = 1; // so that a stretch with nothing is seen as one

/** The last `hot` bars are in the colour of what should be looked at, where there is any. */
export function Spark({ values, hot = 0, label }) {
  const most = Math.max(1, ...values);
  const high = (n) => Math.max(LEAST, (HEIGHT * n) / most);
  return html`
    <svg class="spark" viewBox=${`0 0 ${STEP * values.length} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label}>
      ${values.map((n, at) => html`<rect class=${n && at >= values.length - hot ? "hot" : undefined} x=${STEP * at} y=${HEIGHT - high(n)} width=${WIDTH} height=${high(n)} />`)}
    </svg>
  `;
}

/** The number stands beside it, so the picture has no name of its own. */
export function Curve({ values, most }) {
  const shown = values.length > 1 ? values : [...values, ...values];
  const points = shown.map((value, at) => `${at},${HEIGHT * (1 - value / most)}`).join(" ");
  return html`
    <svg class="spark" viewBox=${`0 0 ${shown.length - 1} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <polygon class="area" points=${`0,${HEIGHT} ${points} ${shown.length - 1},${HEIGHT}`} />
      <polyline points=${points} />
    </svg>
  `;
}
