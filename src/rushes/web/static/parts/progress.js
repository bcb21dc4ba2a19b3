// Live progress: a bar, and a picture that develops. Numbers go in as custom properties through
// the CSSOM, which the CSP allows; style sheets make them move at a constant speed.

import { html } from "../lib.js";

/** A bar from 0 to 100; `label` says of what. `look`: "done", "failed" or "killed". */
export const Bar = ({ value, label, look }) => html`
  <span
    class=${look ? `bar is-${look}` : "bar"} role="progressbar" aria-label=${label}
    aria-valuenow=${Math.floor(value)} aria-valuemin="0" aria-valuemax="100" style=${{ "--p": value }}
  ></span>
`;

/** A poster in flat grey, and in full tone as far as the work is done. */
export const Developing = ({ src, value, children }) => html`
  <div class="poster develop" style=${{ "--p": value }}>
    <img src=${src} alt="" width="640" height="360" /><img src=${src} alt="" width="640" height="360" />
    <span class="front"></span>${children}
  </div>
`;
