// A moment: relative, with the exact time one click away, for all on the page at once.

import { html, signal } from "../lib.js";
import { ago, moment, span } from "../format.js";

const EVERY_MS = 10_000;
const now = signal(Date.now());
const isExact = signal(localStorage.getItem("rushes.times") === "exact");

setInterval(() => document.hidden || (now.value = Date.now()), EVERY_MS);

/** Show all times as moments, or as how long ago they were. */
export function toggleTimes() {
  isExact.value = !isExact.value;
  localStorage.setItem("rushes.times", isExact.value ? "exact" : "ago");
}

/** `isAge` says how old something is and nothing more, under a heading that tells so. */
export function Time({ at, isAge = false }) {
  if (!at) return null;
  const newest = Math.max(now.value, Date.now()); // `now` is some seconds old, and makes it new
  const since = isAge ? span((newest - new Date(at)) / 1000) : ago(at, newest);
  const shown = isExact.value ? moment(at) : since;
  return html`<time datetime=${at} title=${isExact.value ? since : moment(at)} onDblClick=${toggleTimes}>${shown}</time>`;
}
