// Why a job waits: one headline, a line per worker, and what would change it.

import { html, useEffect, useSignal } from "../lib.js";
import { get, may } from "../api.js";
import { capital, clock, count, sentence } from "../format.js";
import { url } from "../root.js";
import { Note } from "../parts/problem.js";
import { prioritise } from "./actions.js";
import { isOpen } from "./row.js";
import words from "../words/job.js";

const told = words.waiting;
const OF_WORKERS = new Set(["NO_CAPABLE_WORKER", "WORKERS_OFFLINE", "WORKERS_DRAINING", "WORKERS_BUSY", "STORAGE_LOW"]);
const OF_PRIORITY = new Set(["WORKERS_BUSY", "PRIORITY"]);
const HIGH = 8;

export function Waiting({ job }) {
  const reasons = useSignal([]);
  useEffect(() => {
    let isShown = true;
    if (isOpen(job)) get(`/jobs/${job.job_id}/why`).then(({ items }) => isShown && (reasons.value = items), () => {});
    return () => (isShown = false);
  }, [job.job_id, job.version, job.waiting?.text]);
  const first = job.waiting;
  if (!isOpen(job) || !first) return null;
  const others = reasons.value.filter((one) => one.reason && one.step !== first.step);
  return html`
    <${Note} title=${told.title(first.step)}>
      <p>${capital(first.text)}${first.until && `, ${told.until(clock(first.until))}`}.${first.count > 1 && ` ${sentence(told.alike(count(first.count - 1)))}`}</p>
      ${first.workers.length > 0 && html`<ul class="reasons">${first.workers.map((line) => html`<li key=${line}><b>${line.split(": ")[0]}</b><span>${line.split(": ").slice(1).join(": ")}</span></li>`)}</ul>`}
      <p><b>${told.changes}</b> ${told.advice[first.reason]}</p>
      ${others.length > 0 && html`<details class="whys"><summary>${told.more}</summary><ul class="reasons">${others.map((one) => html`<li key=${one.task_id}><b>${one.step}</b><span>${capital(one.text)}</span></li>`)}</ul></details>`}
      <p class="acts">
        ${OF_PRIORITY.has(first.reason) && may("write") && job.priority < HIGH && html`<button class="btn small" onClick=${() => prioritise([job.job_id], "high")}>${told.raise}</button>`}
        ${OF_WORKERS.has(first.reason) && may("admin") && html`<a class="btn small" href=${url("/workers")}>${told.workers}</a>`}
      </p>
    <//>
  `;
}
