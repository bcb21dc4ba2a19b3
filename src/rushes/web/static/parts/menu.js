// A button that opens a list of actions. Arrow keys move, Escape closes and gives the focus back.

import { html, useEffect, useId, useRef, useSignal } from "../lib.js";
import { Icon } from "./icon.js";

/** `items` are {label, icon, onClick} or {label, icon, href}, or null; `isChecked` makes a choice. */
export function Menu({ label, button, className = "btn quiet", items }) {
  const isOpen = useSignal(false);
  const element = useRef(null);
  const id = useId();

  const close = () => {
    isOpen.value = false;
    element.current?.querySelector("button").focus();
  };
  const move = (step) => {
    const all = [...element.current.querySelectorAll("[role^=menuitem]")];
    all[(all.indexOf(document.activeElement) + step + all.length) % all.length]?.focus();
  };
  const onKey = (event) => {
    const does = { Escape: close, ArrowDown: () => move(1), ArrowUp: () => move(-1) }[event.key];
    if (!does || !isOpen.value) return;
    event.preventDefault();
    does();
  };
  useEffect(() => {
    if (!isOpen.value) return undefined;
    element.current.querySelector("[role^=menuitem]")?.focus();
    const outside = (event) => element.current?.contains(event.target) || (isOpen.value = false);
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [isOpen.value]);

  return html`
    <span class="menu" ref=${element} onKeyDown=${onKey}>
      <button
        type="button" class=${className} aria-label=${label} aria-haspopup="menu" aria-expanded=${isOpen.value}
        aria-controls=${isOpen.value ? id : undefined} onClick=${() => (isOpen.value = !isOpen.value)}
      >${button}</button>
      ${isOpen.value && html`
        <ul class="menu-list" role="menu" id=${id} aria-label=${label}>
          ${items.filter(Boolean).map((item) => html`<li role="none"><${Item} ...${item} close=${close} /></li>`)}
        </ul>
      `}
    </span>
  `;
}

function Item({ label, icon, href, onClick, isChecked, close }) {
  const inside = html`${icon && html`<${Icon} name=${icon} />`}<span>${label}</span>${isChecked && html`<${Icon} name="check" />`}`;
  const role = isChecked === undefined ? "menuitem" : "menuitemradio";
  if (href) return html`<a role=${role} tabindex="-1" href=${href} onClick=${close}>${inside}</a>`;
  const act = () => {
    close();
    onClick();
  };
  return html`<button type="button" role=${role} aria-checked=${isChecked} tabindex="-1" onClick=${act}>${inside}</button>`;
}
