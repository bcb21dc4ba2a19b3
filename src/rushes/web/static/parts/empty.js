// A page without anything on it: one sentence that is an instruction, and the same as a command.

import { html } from "../lib.js";

export const Empty = ({ title, text, command, commandText, children }) => html`
  <div class="empty">
    <h2>${title}</h2>
    <p>${text}</p>
    ${children && html`<p class="acts">${children}</p>`}
    ${command && html`<p class="dim">${commandText} <code>${command}</code></p>`}
  </div>
`;
