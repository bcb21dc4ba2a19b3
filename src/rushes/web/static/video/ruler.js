// What lies over a line of time: the hours and minutes, and where the film is.

import { html } from "../lib.js";
import { duration } from "../format.js";

const TICKS = 6;

/** Where the film is, in a part of it; nothing when it is elsewhere. */
export function PlayHead({ player, from, to }) {
  const at = (100 * (player.time.value * 1000 - from)) / (to - from);
  return at >= 0 && at <= 100 && html`<span class="playhead" style=${{ "--p": at }}></span>`;
}

export const Ruler = ({ from, to }) => html`
  <div class="ruler" aria-hidden="true">
    ${Array.from({ length: TICKS + 1 }, (_, at) => html`<span>${duration(from + ((to - from) * at) / TICKS)}</span>`)}
  </div>
`;
