// One job in the list. It reads one row of the store, so an event renders this line and no other.

import { html, useEffect } from "../lib.js";
import { may } from "../api.js";
import { refresh, row } from "../store.js";
import { capital, count, eta, percent, short, span } from "../format.js";
import { url } from "../root.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { Bar } from "../parts/progress.js";
import { Status } from "../parts/status.js";
import { Time } from "../parts/time.js";
import { PRIORITIES, prioritise, retry } from "./actions.js";
import { isNarrow } from "./narrow.js";
import words from "../words/jobs.js";
import doing from "../words/actions.js";

const SEEN_MS = 150; // rows that only pass by are not asked for

export const isOpen = (job) => job.status === "queued" || job.status === "running";
export const canRetry = (job) => job.status === "failed" || job.status === "killed" || job.warnings > 0;
export const nameOf = (job) => job.label || words.unnamed(job.job_type);

export function Row({ id, isChosen, isCurrent, onChoose, onKill, onCommands }) {
  const job = row("jobs", id).value;
  const isUntold = job && isOpen(job) && !job.work;
  useEffect(() => {
    if (!isUntold) return undefined;
    const timer = setTimeout(() => refresh("jobs", id), SEEN_MS);
    return () => clearTimeout(timer);
  }, [id, isUntold]);
  if (!job) return null;
  return html`
    <div class=${isChosen ? "row is-chosen" : "row"} role="row" data-id=${id} aria-current=${isCurrent ? "true" : undefined}>
      <span role="cell" class="sel">
        ${may("write") && html`<input type="checkbox" checked=${isChosen} aria-label=${words.select(nameOf(job))} onChange=${() => onChoose(id)} />`}
      </span>
      <span role="cell" class="what"><a href=${url(`/jobs/${id}`)} dir="auto">${nameOf(job)}</a> <small>${job.job_type}</small></span>
      <span role="cell" class="state"><${State} job=${job} /></span>
      <span role="cell" class="who">${(job.work?.workers ?? []).join(", ")}</span>
      <span role="cell" class="age"><${Time} at=${job.created_at} isAge=${!isNarrow.value} /></span>
      <span role="cell" class="left">${left(job)}</span>
      <span role="cell" class="id mono">${short(id)}</span>
      <span role="cell" class="act"><${Actions} job=${job} onKill=${onKill} onCommands=${onCommands} /></span>
    </div>
  `;
}

function State({ job }) {
  if (job.status === "running") {
    return html`
      <${Status} status="running" />
      <span class="prog"><${Bar} value=${job.progress.percent} label=${words.progressOf(nameOf(job))} /><span class="say">${[percent(job.progress.percent), stepOf(job.work)].filter(Boolean).join(" · ")}</span></span>
    `;
  }
  const isWarned = job.status === "completed" && job.warnings > 0;
  return html`<${Status} status=${isWarned ? "warning" : job.status} word=${isWarned ? words.completed : undefined} /><span class="say" dir="auto"><${Saying} job=${job} /></span>`;
}

function Saying({ job }) {
  if (job.status === "queued") return capital(job.work?.waits_for ?? words.waiting);
  if (job.status === "failed") return html`<code>${job.error_code}</code> ${capital(job.error ?? "")}`;
  if (job.status === "killed") return words.killed(job.killed_by_name ?? job.killed_by, job.killed_reason);
  return job.warnings > 0 ? words.warned(job.warnings, job.reported[0]?.message) : words.took(span(seconds(job)));
}

const seconds = (job) => (new Date(job.finished_at) - new Date(job.started_at ?? job.created_at)) / 1000;

const left = (job) => (job.status === "running" ? eta(job.work?.eta_seconds) : job.finished_at && job.started_at ? span(seconds(job)) : null);

/** The step that runs, with its parts: "transcode 58/96" */
function stepOf(work) {
  if (!work) return null;
  const running = Object.entries(work.steps).filter(([, states]) => states.running);
  const [name, states] = running.find(([step]) => step === work.step) ?? running[0] ?? [];
  if (!name) return null;
  const all = Object.values(states).reduce((sum, n) => sum + n, 0);
  return all > 1 ? `${name} ${count(states.done ?? 0)}/${count(all)}` : name;
}

export function Actions({ job, onKill, onCommands }) {
  const id = job.job_id;
  const priorities = Object.keys(PRIORITIES).map((name) => ({
    label: words.priority(doing.priorities[name]), isChecked: job.priority === PRIORITIES[name], onClick: () => prioritise([id], name),
  }));
  return html`
    <${Menu}
      label=${words.actions(nameOf(job))} button=${html`<${Icon} name="more" />`} className="btn quiet small icon-only"
      items=${[
        { label: doing.open, icon: "jobs", href: url(`/jobs/${id}`) },
        may("write") && canRetry(job) && { label: doing.retry, icon: "retry", onClick: () => retry([id]) },
        ...(may("write") && isOpen(job) ? priorities : []),
        may("write") && isOpen(job) && { label: doing.kill, icon: "stop", onClick: () => onKill([id]) },
        { label: doing.commands, icon: "docs", onClick: () => onCommands([id]) },
      ]}
    />
  `;
}
