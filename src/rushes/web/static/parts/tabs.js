// Sections of which one is shown. Arrow keys move between them.

import { html, useId } from "../lib.js";
import words from "../words/shell.js";

/** `tabs` are {name, label, count}; `children` is what the chosen one shows. */
export function Tabs({ tabs, current, onChange, label = words.tabs, children }) {
  const id = useId();
  const onKey = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = tabs.findIndex((tab) => tab.name === current);
    const next = tabs[(at + step + tabs.length) % tabs.length].name;
    onChange(next);
    document.getElementById(`${id}-${next}`)?.focus();
  };
  return html`
    <div class="tabs" role="tablist" aria-label=${label} onKeyDown=${onKey}>
      ${tabs.map((tab) => html`
        <button
          type="button" role="tab" id=${`${id}-${tab.name}`} aria-selected=${tab.name === current} aria-controls=${id}
          tabindex=${tab.name === current ? 0 : -1} onClick=${() => onChange(tab.name)}
        >${tab.label}${tab.count != null && html`<span class="n">${tab.count}</span>`}</button>
      `)}
    </div>
    <div role="tabpanel" id=${id} aria-labelledby=${`${id}-${current}`}>${children}</div>
  `;
}
