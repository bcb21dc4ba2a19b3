// What somebody may do to jobs, and the same as commands. A refusal is told, and stops nothing else.

import { patch, post } from "../api.js";
import { recount, refresh } from "../store.js";
import { count, short } from "../format.js";
import { curl, quote } from "../parts/copy.js";
import { say, sayProblem } from "../parts/toast.js";
import words from "../words/actions.js";

const AT_ONCE = 4;
export const PRIORITIES = { low: 2, normal: 5, high: 8, urgent: 10 };

/** Try jobs again; `what` is {step}, {task_id} or {quality}, else all that failed. */
export const retry = (ids, what = {}) => each(ids, (id) => post(`/jobs/${id}/retry`, what), words.retried);

export const kill = (ids, reason) => each(ids, (id) => post(`/jobs/${id}/kill`, { reason: reason || null }), words.killed);

export const prioritise = (ids, priority) =>
  each(ids, (id) => patch(`/jobs/${id}`, { priority }), (n) => words.prioritised(n, words.priorities[priority]));

/** Do something to each; returns what was answered by those that did not refuse. */
async function each(ids, work, said) {
  const results = [];
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    results.push(...(await Promise.allSettled(ids.slice(at, at + AT_ONCE).map(work))));
  }
  for (const id of ids) refresh("jobs", id);
  recount("jobs");
  recount("failed");
  const refused = results.filter((one) => one.status === "rejected");
  const done = results.filter((one) => one.status === "fulfilled").map((one) => one.value);
  if (done.length) say(said(done.length, count(done.length)));
  if (refused.length) sayProblem(refused[0].reason);
  if (refused.length && ids.length > 1) say(words.refused(count(refused.length)), { icon: "warning" });
  return done;
}

/** The word of a priority: 5 -> "normal"; between two of them, the number. */
export const priorityWord = (priority) => {
  const name = Object.keys(PRIORITIES).find((one) => PRIORITIES[one] === priority);
  return name ? words.priorities[name] : String(priority);
};

const python = (call) => `from rushes import Client\n\nwith Client("${location.origin}", key="…") as rushes:\n    rushes.${call}`;
const literal = (text) => JSON.stringify(text);

/** The commands of one action. */
export const commands = {
  retry: (id, { step, task_id } = {}) => ({
    CLI: ["rushes jobs retry", short(id), step && `--only ${quote(step)}`, task_id && `--task ${task_id}`].filter(Boolean).join(" "),
    curl: curl("POST", `/jobs/${id}/retry`, { step, task_id }),
    Python: python(`jobs.retry(${[literal(short(id)), step && `kind=${literal(step)}`, task_id && `task=${task_id}`].filter(Boolean).join(", ")})`),
  }),
  quality: ({ job_id, asset_id }, quality) => ({
    CLI: `rushes retranscode ${short(asset_id)} --qualities ${quality}`,
    curl: curl("POST", `/jobs/${job_id}/retry`, { quality }),
    Python: python(`jobs.retry_quality(${literal(short(job_id))}, ${literal(quality)})`),
  }),
  kill: (id, reason) => ({
    CLI: `rushes jobs kill ${short(id)}${reason ? ` --reason ${quote(reason)}` : ""}`,
    curl: curl("POST", `/jobs/${id}/kill`, { reason: reason || null }),
    Python: python(`jobs.kill(${literal(short(id))}${reason ? `, reason=${literal(reason)}` : ""})`),
  }),
  priority: (id, priority) => ({
    CLI: `rushes jobs priority ${short(id)} ${priority}`,
    curl: curl("PATCH", `/jobs/${id}`, { priority }),
    Python: python(`jobs.set_priority(${literal(short(id))}, ${PRIORITIES[priority]})`),
  }),
  show: (id) => ({
    CLI: `rushes jobs show ${short(id)}\nrushes jobs why ${short(id)}\nrushes jobs logs ${short(id)}`,
    curl: curl("GET", `/jobs/${id}`),
    Python: python(`jobs.show(${literal(short(id))})`),
  }),
};

/** One action on several jobs: their commands one after the other. */
export const forEach = (ids, action) => {
  const all = ids.map(action);
  return Object.fromEntries(["CLI", "curl"].map((form) => [form, all.map((one) => one[form]).join("\n")]));
};
