// What happened to a job: events, its log, every attempt, and the programs that ran.

import { html, useEffect, useSignal } from "../lib.js";
import { get } from "../api.js";
import { setQuery } from "../router.js";
import { count, moment } from "../format.js";
import { Icon } from "../parts/icon.js";
import { Tabs } from "../parts/tabs.js";
import { Executions } from "./executions.js";
import { tasksOf } from "./jobview.js";
import { Attempts } from "./task.js";
import words from "../words/job.js";

const TABS = ["events", "log", "attempts", "commands"];
const [AT_FIRST, LAST_LINES, LOG_MS] = [100, 500, 2000];
const LEVELS = ["all", "info", "warning", "error"];
const RANK = { debug: 0, info: 1, warning: 2, error: 3, critical: 3 };
const BAD = /failed|exhausted|timed_out|expired/;
const LOOKS = [[BAD, "is-bad", "failed"], [/killed/, "is-bad", "killed"], [/done|completed/, "is-good", "completed"], [/claimed|started/, "is-live", "running"], [/requeued|retrying/, "", "retry"]];

export function History({ view, job, tab }) {
  const current = TABS.includes(tab) ? tab : "events";
  const names = namesOf(job);
  const shown = {
    events: () => html`<${Events} events=${view.events.value} names=${names} />`,
    log: () => html`<${Log} job=${job} names=${names} />`,
    attempts: () => (job.attempts.length ? html`<${Attempts} attempts=${[...job.attempts].reverse().slice(0, LAST_LINES)} names=${names} />` : html`<p class="in dim">${words.noAttempts}</p>`),
    commands: () => html`<${Commands} job=${job} names=${names} />`,
  };
  return html`
    <section class="panel history" aria-label=${words.history}>
      <${Tabs}
        label=${words.history} current=${current} onChange=${(name) => setQuery({ tab: name === "events" ? null : name })}
        tabs=${TABS.map((name) => ({ name, label: words.tabs[name], count: name === "attempts" && job.attempts.length ? count(job.attempts.length) : null }))}
      >${shown[current]()}<//>
    </section>
  `;
}

/** How a task is called: "transcode 44", or the step alone if it has no parts. */
function namesOf(job) {
  const tasks = new Map(job.tasks.map((task) => [task.task_id, task]));
  const sizes = {};
  for (const { step } of job.tasks) sizes[step] = (sizes[step] ?? 0) + 1;
  const name = (id) => {
    const task = tasks.get(id);
    if (!task) return words.aTask;
    return sizes[task.step] > 1 ? words.partOf(task.step, task.item + 1) : task.step;
  };
  return name;
}

function Events({ events, names }) {
  const most = useSignal(AT_FIRST);
  const shown = events.slice(-most.value).reverse();
  return html`
    <ol class="events">
      ${shown.map((event) => html`<${Event} key=${event.event_id} event=${event} names=${names} />`)}
    </ol>
    ${events.length > shown.length && html`<p class="in"><button class="btn small" onClick=${() => (most.value += 5 * AT_FIRST)}>${words.older(count(events.length - shown.length))}</button></p>`}
  `;
}

function Event({ event, names }) {
  const [, look, icon] = LOOKS.find(([test]) => test.test(event.type)) ?? [null, "", event.type === "job.submitted" ? "plus" : "clock"];
  return html`
    <li class=${look}>
      <time class="tc" datetime=${event.at} title=${moment(event.at)}>${time(event.at)}</time><${Icon} name=${icon} />
      <span dir="auto">${telling(event, names)}</span><span class="seq">#${count(event.event_id)}</span>
    </li>
  `;
}

const time = (at) => new Date(at).toLocaleTimeString([], { hour12: false });

function telling({ type, data }, names) {
  const tasks = tasksOf(data).map(names);
  const listed = tasks.length > 4 ? words.andMore(tasks.slice(0, 3).join(", "), count(tasks.length - 3)) : tasks.join(", ");
  const worker = (data.worker ?? "").split("#")[0];
  const said = words.events[type] ?? type;
  const more = [worker && words.at(worker), data.by && words.by(data.name ?? data.by), words.because[data.reason] ?? data.reason ?? data.cause, data.priority != null && data.priority].filter(Boolean).join(", ");
  return html`${listed && html`<b>${listed}</b> `}${said}${more && ` ${more}`}`;
}

/** Lines of the log are no events: they are read again while work goes on and somebody looks. */
function useLog(job) {
  const lines = useSignal(null);
  const isOpen = job.status === "running";
  useEffect(() => {
    let isShown = true;
    const read = () => get(`/jobs/${job.job_id}/logs`, { last: LAST_LINES }).then(({ items }) => isShown && (lines.value = items), () => {});
    read();
    const timer = isOpen && setInterval(() => document.hidden || read(), LOG_MS);
    return () => {
      isShown = false;
      clearInterval(timer);
    };
  }, [job.job_id, isOpen]);
  return lines.value;
}

function Log({ job, names }) {
  const level = useSignal("all");
  const found = (useLog(job) ?? []).filter((line) => line.type === "log" && (RANK[line.level.toLowerCase()] ?? 1) >= (RANK[level.value] ?? 0));
  return html`
    <div class="in stack">
      <div class="chips" role="group" aria-label=${words.level}>
        ${LEVELS.map((name) => html`<button class="chip-f" aria-pressed=${level.value === name} onClick=${() => (level.value = name)}>${words.levels[name]}</button>`)}
      </div>
      ${found.length ? html`<ol class="loglines" tabindex="0" role="log" aria-label=${words.tabs.log}>${found.map((line) => html`
        <li key=${line.id} class=${`is-${line.level.toLowerCase()}`}><time class="tc" datetime=${line.at}>${time(line.at)}</time><b>${names(line.task_id)}</b><span dir="auto">${line.message}</span></li>
      `)}</ol>` : html`<p class="dim">${words.noLog}</p>`}
    </div>
  `;
}

function Commands({ job, names }) {
  const runs = (useLog(job) ?? []).filter((line) => line.type === "execution").reverse();
  return runs.length ? html`<${Executions} runs=${runs} names=${names} />` : html`<p class="in dim">${words.noCommands}</p>`;
}
