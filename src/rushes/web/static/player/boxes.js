// Where texts stand in the picture: yellow for the one that is marked, thin dashes for the rest.

import { html } from "../lib.js";

const AROUND = 0.006; // of the width, so that letters are not touched

/** `boxes` are {x, y, width, height, isMarked} in pixels of the original, which `video` knows. */
export function Boxes({ video, boxes }) {
  const pad = video.width * AROUND;
  return html`
    <svg class="boxes" viewBox=${`0 0 ${video.width} ${video.height}`} aria-hidden="true">
      ${boxes.map((box) => html`
        <rect class=${box.isMarked ? undefined : "other"} x=${box.x - pad} y=${box.y - pad} width=${box.width + 2 * pad} height=${box.height + 2 * pad} />
      `)}
    </svg>
  `;
}
