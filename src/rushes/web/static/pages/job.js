// One job: how far it is, why it waits, what runs where, what failed, and what to do about it.

import { html, useEffect, useMemo, useSignal } from "../lib.js";
import { may } from "../api.js";
import { go, setQuery } from "../router.js";
import { clock, count, eta, percent, plural, short, span } from "../format.js";
import { url } from "../root.js";
import { Empty } from "../parts/empty.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { ProblemNote } from "../parts/problem.js";
import { Status } from "../parts/status.js";
import { Time } from "../parts/time.js";
import { useTitle } from "../shell/page.js";
import { PRIORITIES, prioritise, priorityWord, retry } from "../work/actions.js";
import { Chunks } from "../work/chunks.js";
import { CommandsDialog, KillDialog } from "../work/dialogs.js";
import { Ending } from "../work/ending.js";
import { Graph, took } from "../work/graph.js";
import { History } from "../work/history.js";
import { JobView, stepsOf } from "../work/jobview.js";
import { isOpen, nameOf } from "../work/row.js";
import { StepPanel, TaskPanel } from "../work/task.js";
import { Waiting } from "../work/waiting.js";
import words from "../words/job.js";
import doing from "../words/actions.js";

const LOOKS = { done: "done", skipped: "done", error: "failed", killed: "killed" };

export default function Job({ params, query }) {
  const view = useMemo(() => new JobView(params.id), [params.id]);
  useEffect(() => view.open(), [view]);
  const job = view.job.value;
  useTitle(job && nameOf(job));
  if (view.problem.value?.status === 404) {
    return html`<h1 class="sr">${words.gone.title}</h1><${Empty} title=${words.gone.title} text=${words.gone.text}><a class="btn" href=${url("/jobs")}>${words.gone.action}</a><//>`;
  }
  const problem = view.problem.value && html`<${ProblemNote} problem=${view.problem.value} again=${() => view.readAll()} />`;
  return html`${problem}${job && html`<${Shown} view=${view} job=${job} query=${query} />`}`;
}

function Shown({ view, job, query }) {
  const steps = stepsOf(job);
  const task = query.task && job.tasks.find((one) => String(one.task_id) === query.task);
  const step = steps.find((one) => one.name === (task?.step ?? query.step));
  const pick = (name) => setQuery({ step: name === query.step && !task ? null : name, task: null });
  const pickTask = ({ task_id }) => setQuery({ task: String(task_id) === query.task ? null : task_id, step: null });
  const close = () => setQuery({ step: null, task: null });
  const isMoving = steps.some((one) => one.counts.running);
  const again = view.events.value.findLast((event) => event.type === "job.requeued");
  return html`
    <p class="crumbs"><a href=${url("/jobs")}>${words.back}</a><span aria-hidden="true">/</span><span class="mono">${short(job.job_id)}</span></p>
    <${Head} job=${job} steps=${steps} />
    <div class="stack">
      <${Ending} job=${job} />
      ${!isMoving && html`<${Waiting} job=${job} />`}
      <section class="panel" aria-labelledby="tasks">
        <header><h2 id="tasks">${words.graphTitle}</h2><span class="faint num">${words.graphText(plural(steps.length, words.stepForms), plural(job.tasks.length, words.taskForms))}</span></header>
        <${Graph} steps=${steps} chosen=${step?.name} onChoose=${pick} />
      </section>
    </div>
    <${Chunks} job=${job} steps=${steps} keptBefore=${again && Date.parse(again.at)} chosen=${task?.task_id} onChoose=${pickTask} />
    ${task ? html`<${TaskPanel} job=${job} task=${task} onClose=${close} />` : step && html`<${StepPanel} job=${job} step=${step} onChoose=${pickTask} onClose=${close} />`}
    <div class="section split">
      <div><${History} view=${view} job=${job} tab=${query.tab} /></div>
      <div>${isMoving && html`<${Waiting} job=${job} />`}<${About} job=${job} /></div>
    </div>
  `;
}

function Head({ job, steps }) {
  const isWarned = job.status === "completed" && job.warnings > 0;
  const isDone = job.status === "completed";
  return html`
    <div class="jobhead">
      <div class="page-head"><h1 dir="auto">${nameOf(job)}</h1><${Actions} job=${job} steps=${steps} /></div>
      <div class="big">
        <span class="pct">${percent(job.progress.percent, isDone).replace(" %", "")}<small>%</small></span>
        <${Status} status=${isWarned ? "warning" : job.status} word=${isWarned ? words.warnings(job.warnings) : undefined} />
        <span class="eta num">${timing(job)}</span>
        ${job.asset_id && html`<a class="eta" href=${url(`/v/${job.asset_id}`)}>${words.video}</a>`}
      </div>
      <ol class="stages" aria-label=${words.stages}>
        ${steps.map((step) => html`
          <li key=${step.name} class=${step.state === "running" ? "now" : ""} style=${{ "--w": Math.max(step.weight, 8) }}>
            <span class=${`bar ${LOOKS[step.state] ? `is-${LOOKS[step.state]}` : ""}`} aria-hidden="true" style=${{ "--p": step.percent }}></span>
            <b>${step.name}</b><span>${far(step)}</span>
          </li>
        `)}
      </ol>
    </div>
  `;
}

/** How far a stage is, or how long it took. */
function far(step) {
  if (step.state === "done") return span(took(step.tasks));
  if (step.tasks.length > 1) return words.of(count(step.counts.done ?? 0), count(step.tasks.length));
  return step.state === "running" ? percent(step.percent) : words.states[step.state];
}

function timing(job) {
  if (job.status === "running" && job.eta_seconds != null) return words.left(eta(job.eta_seconds), clock(Date.now() + job.eta_seconds * 1000));
  return job.finished_at && job.started_at ? words.took(span((Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000)) : null;
}

function Actions({ job, steps }) {
  const asks = useSignal(null);
  const close = () => (asks.value = null);
  const asCommands = html`
    <button class="btn quiet" onClick=${() => (asks.value = "commands")}><${Icon} name="docs" />${doing.commands}</button>
    ${asks.value === "commands" && html`<${CommandsDialog} jobs=${[job]} onClose=${close} />`}
  `;
  if (!may("write")) return html`<div class="end">${asCommands}</div>`;
  const ids = [job.job_id];
  const failed = steps.filter((step) => step.counts.error || step.counts.killed);
  const again = async (quality) => {
    const [made] = await retry(ids, { quality });
    if (made && made.job_id !== job.job_id) go(`/jobs/${made.job_id}`);
  };
  const retries = [
    failed.length > 0 && { label: words.retryAll, icon: "retry", onClick: () => retry(ids) },
    ...failed.map((step) => ({ label: step.name, icon: "retry", onClick: () => retry(ids, { step: step.tasks[0].kind }) })),
    ...(isOpen(job) ? [] : job.qualities.filter((one) => one.status !== "skipped").map(({ quality }) => ({ label: words.retryQuality(quality), icon: "retry", onClick: () => again(quality) }))),
  ].filter(Boolean);
  return html`
    <div class="end">
      ${retries.length > 0 && html`<${Menu} label=${words.retryMenu} className="btn" items=${retries} button=${html`<${Icon} name="retry" />${words.retryMenu}<${Icon} name="chevron" />`} />`}
      ${isOpen(job) && html`
        <${Menu}
          label=${words.raise} className="btn" button=${html`${words.raise}<${Icon} name="chevron" />`}
          items=${Object.entries(PRIORITIES).map(([name, value]) => ({ label: doing.priorities[name], isChecked: job.priority === value, onClick: () => prioritise(ids, name) }))}
        />
        <button class="btn danger" onClick=${() => (asks.value = "kill")}><${Icon} name="stop" />${words.kill}</button>
      `}
      ${asCommands}
      ${asks.value === "kill" && html`<${KillDialog} ids=${ids} onClose=${close} />`}
    </div>
  `;
}

function About({ job }) {
  const facts = {
    kind: job.job_type,
    priority: `${priorityWord(job.priority)} (${job.priority})`,
    owner: job.owner,
    created: html`<${Time} at=${job.created_at} />`,
    started: job.started_at && html`<${Time} at=${job.started_at} />`,
    finished: job.finished_at && html`<${Time} at=${job.finished_at} />`,
    workers: [...new Set(job.tasks.map((task) => task.worker).filter(Boolean))].join(", "),
    id: html`<span class="mono">${job.job_id}</span>`,
  };
  return html`
    <section class="panel" aria-labelledby="about">
      <header><h2 id="about">${words.about}</h2></header>
      <div class="in"><dl class="kv">${Object.entries(facts).filter(([, value]) => value).map(([name, value]) => html`<dt>${words.facts[name]}</dt><dd>${value}</dd>`)}</dl></div>
    </section>
  `;
}
