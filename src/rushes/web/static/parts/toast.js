// Short messages at the edge of the screen, which screen readers say too.

import { html, signal } from "../lib.js";
import { Icon } from "./icon.js";
import words from "../words/shell.js";

const SHOWN_MS = 8000;
const shown = signal([]);
let number = 0;

/** Say something for a while. `action` is {label, href} or {label, onClick}. */
export function say(text, { icon = "completed", action } = {}) {
  const id = ++number;
  shown.value = [...shown.value.slice(-2), { id, text, icon, action }];
  setTimeout(() => hide(id), SHOWN_MS);
}

/** Say why something could not be done, and what to do about it. */
export const sayProblem = (problem) => say([problem.message, problem.hint].filter(Boolean).join(" · "), { icon: "failed" });

const hide = (id) => (shown.value = shown.value.filter((one) => one.id !== id));

const Action = ({ label, href, onClick }) => href
  ? html`<a href=${href}>${label}</a>`
  : html`<button class="btn small" onClick=${onClick}>${label}</button>`;

export const Toasts = () => html`
  <div class="toasts" role="status">
    ${shown.value.map(({ id, text, icon, action }) => html`
      <div class="toast" key=${id}>
        <${Icon} name=${icon} /><span>${text}</span>
        ${action && html`<${Action} ...${action} />`}
        <button class="btn small icon-only" aria-label=${words.dismiss} onClick=${() => hide(id)}><${Icon} name="close" /></button>
      </div>
    `)}
  </div>
`;
