// A status: icon, word and colour, in this order of trust.

import { html } from "../lib.js";
import { Icon } from "./icon.js";
import words from "../words/status.js";

const LOOKS = {
  queued: "queued", pending: "queued", new: "queued", ready: "queued",
  running: "running", processing: "running", in_progress: "running", busy: "running",
  completed: "completed", done: "completed", idle: "completed", active: "completed",
  failed: "failed", error: "failed",
  killed: "killed", draining: "killed",
  warning: "warning",
};
const ICONS = { warning: "warning", skipped: "skipped", offline: "skipped", disabled: "skipped", draining: "clock" };

/** `word` replaces the word of the status; `chip` is for pictures. */
export function Status({ status, word = words[status] ?? status, chip = false }) {
  const look = LOOKS[status] ?? "queued";
  return html`
    <span class=${`status is-${look}${chip ? " chip" : ""}`}><${Icon} name=${ICONS[status] ?? look} />${word}</span>
  `;
}
