// Keys that work on every page, and the list of them. Pages add their own with `useKeys`.

import { html, signal, useLayoutEffect } from "../lib.js";
import { go } from "../router.js";
import { Dialog } from "../parts/dialog.js";
import words from "../words/shell.js";

const GO = { l: "/", j: "/jobs", f: "/failed", w: "/workers", s: "/system" };
const SECOND_KEY_MS = 1200;
const isOpen = signal(false);
const added = signal([]);

export const showShortcuts = () => (isOpen.value = true);

/** Whether a key belongs to what somebody types in. */
export const isTyping = (event) => Boolean(event.target.closest?.("input:not([type=checkbox], [type=radio], [type=range]), textarea, select, [contenteditable]"));

/** Whether a control needs a key for itself: a button is pressed by Enter, tabs are moved by arrows. */
const isOfControl = ({ key, target }) => Boolean(
  (/^(Enter| )$/.test(key) && target.closest?.("button, a[href], summary, input"))
  || (/^(Arrow|Home|End|Page)/.test(key) && target.closest?.("input, [role=tablist], [role=menu]")),
);

/** Let a page have keys as soon as it is shown: {key: [what it does, words, name of the key]}. */
export function useKeys(keys) {
  useLayoutEffect(() => {
    const listed = Object.entries(keys).filter(([, [, text]]) => text).map(([key, [, text, name]]) => [name ?? key.toUpperCase(), text]);
    added.value = [...added.value, ...listed];
    const onKey = (event) => {
      if (event.defaultPrevented || isTyping(event) || isOfControl(event) || event.metaKey || event.ctrlKey || event.altKey) return;
      if (document.querySelector("dialog[open]")) return;
      const found = keys[event.key] ?? (event.shiftKey ? null : keys[event.key.toLowerCase()]); // caps lock is no shift
      if (!found) return;
      event.preventDefault();
      found[0](event);
    };
    addEventListener("keydown", onKey);
    return () => {
      removeEventListener("keydown", onKey);
      added.value = added.value.filter((one) => !listed.includes(one));
    };
  }, []);
}

const focusSearch = () => document.getElementById("search")?.focus();

let wentAt = -Infinity;

function onKey(event) {
  const key = event.key.toLowerCase();
  if (key === "k" && (event.metaKey || event.ctrlKey)) return does(event, focusSearch);
  if (isTyping(event) || event.metaKey || event.ctrlKey || event.altKey || document.querySelector("dialog[open]")) return;
  const isSecond = event.timeStamp - wentAt < SECOND_KEY_MS;
  wentAt = key === "g" ? event.timeStamp : -Infinity;
  if (isSecond && GO[key]) does(event, () => go(GO[key]));
  else if (key === "/") does(event, focusSearch);
  else if (key === "?") does(event, showShortcuts);
  else if (key === "u") does(event, () => go("/upload"));
}

function does(event, action) {
  event.preventDefault();
  action();
}

export function Shortcuts() {
  useLayoutEffect(() => {
    addEventListener("keydown", onKey, true); // before a page: the second key of two is not its own
    return () => removeEventListener("keydown", onKey, true);
  }, []);
  return isOpen.value && html`
    <${Dialog} title=${words.shortcuts} onClose=${() => (isOpen.value = false)}>
      <dl class="keylist">
        ${[...added.value, ...words.keys].map(([key, text]) => html`<dt>${key.split(" ").map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${text}</dd>`)}
      </dl>
    <//>
  `;
}
