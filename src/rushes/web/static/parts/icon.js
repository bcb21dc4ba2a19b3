// An icon of icons.svg. It never stands alone: a word is beside it, or a label is on its button.

import { html } from "../lib.js";
import { file } from "../root.js";

const SPRITE = file("icons.svg");

export const Icon = ({ name, small = false }) => html`
  <svg class=${small ? "icon icon-s" : "icon"} aria-hidden="true"><use href=${`${SPRITE}#${name}`} /></svg>
`;
