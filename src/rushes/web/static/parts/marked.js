// A text with the parts marked that answer a question. It is split and put together as elements;
// whatever it says stays text.

import { html } from "../lib.js";

/** `offsets` are [from, to] in characters as the server counts them, which are whole code points. */
export function Marked({ text, offsets }) {
  if (!offsets.length) return text;
  const letters = [...text];
  const parts = [];
  let done = 0;
  for (const [from, to] of offsets) {
    parts.push(letters.slice(done, from).join(""), html`<mark>${letters.slice(from, to).join("")}</mark>`);
    done = to;
  }
  return html`${parts}${letters.slice(done).join("")}`;
}
