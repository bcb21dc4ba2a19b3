// A frame of a storyboard: a part of a large picture, `width` px wide.

import { html } from "../lib.js";

export const Tile = ({ frame, width }) => html`
  <span class="tile" style=${{ "--w": `${width}px`, "--h": `${(width * frame.h) / frame.w}px` }}>
    <img src=${frame.src} alt="" style=${{ transform: `scale(${width / frame.w}) translate(${-frame.x}px, ${-frame.y}px)` }} />
  </span>
`;
