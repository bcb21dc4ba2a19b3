// The browser's own dialog: it keeps the focus inside, and Escape closes it.

import { html, useId, useLayoutEffect, useRef } from "../lib.js";

/** Mounted is open. `actions` are the buttons at its foot; `onClose` has to take it away. */
export function Dialog({ title, onClose, actions, children }) {
  const element = useRef(null);
  const id = useId();
  useLayoutEffect(() => {
    element.current.showModal();
    return () => element.current?.close();
  }, []);
  const outside = (event) => event.target === element.current && onClose();
  return html`
    <dialog class="dialog" ref=${element} aria-labelledby=${id} onClose=${onClose} onClick=${outside}>
      <div class="in"><h2 id=${id}>${title}</h2>${children}</div>
      ${actions && html`<footer>${actions}</footer>`}
    </dialog>
  `;
}
