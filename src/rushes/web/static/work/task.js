// What was tried of one task, or of one step: who holds it, what it ran, what went wrong, what to do.

import { html, useEffect, useRef, useSignal } from "../lib.js";
import { get, may } from "../api.js";
import { capital, clock, count, percent, sentence, span } from "../format.js";
import { CopyCommands } from "../parts/copy.js";
import { Icon } from "../parts/icon.js";
import { ErrorCard } from "../parts/problem.js";
import { Bar } from "../parts/progress.js";
import { Status } from "../parts/status.js";
import { Time } from "../parts/time.js";
import { commands, retry } from "./actions.js";
import { Executions } from "./executions.js";
import words from "../words/job.js";

const [FIRST, LAST_RUNS] = [12, 20];
const ORDER = ["error", "killed", "running", "ready", "new", "done", "skipped"];
const canRetry = (task) => task.state === "error" || task.state === "killed";

export function StepPanel({ job, step, onChoose, onClose }) {
  const tasks = [...step.tasks].sort((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
  if (step.tasks.length === 1) return html`<${TaskPanel} job=${job} task=${step.tasks[0]} onClose=${onClose} />`;
  const isFailed = step.tasks.some(canRetry);
  return html`
    <${Frame} title=${words.stepTitle(step.name, count(step.tasks.length))} onClose=${onClose}>
      <p class="pipe">${Object.entries(step.counts).map(([state, n]) => html`<${Status} status=${state} word=${words.counted(count(n), words.states[state])} />`)}</p>
      <ul class="picks">
        ${tasks.slice(0, FIRST).map((task) => html`
          <li key=${task.task_id}><button type="button" onClick=${() => onChoose(task)}>
            <${Status} status=${task.state} word=${words.part(task.item + 1)} /><span class="dim">${brief(task)}</span>
          </button></li>
        `)}
      </ul>
      ${tasks.length > FIRST && html`<p class="faint">${words.morePicks(count(tasks.length - FIRST))}</p>`}
      ${isFailed && may("write") && html`<p class="acts"><button class="btn" onClick=${() => retry([job.job_id], { step: step.tasks[0].kind })}><${Icon} name="retry" />${words.retryStep(step.name)}</button></p>`}
      ${isFailed && html`<${CopyCommands} commands=${commands.retry(job.job_id, { step: step.tasks[0].kind })} />`}
    <//>
  `;
}

function brief(task) {
  if (task.failure && task.state !== "done") return task.failure.error_code;
  if (task.state === "running") return `${percent(task.progress)} ${words.on(task.worker)}`;
  return task.last_worker ? words.on(task.last_worker) : "";
}

export function TaskPanel({ job, task, onClose }) {
  const attempts = job.attempts.filter((one) => one.task_id === task.task_id);
  return html`
    <${Frame} title=${words.taskTitle(task.step, task.item + 1, job.tasks.filter((one) => one.step === task.step).length)} onClose=${onClose}>
      <p class="pipe">
        <${Status} status=${task.state} />
        <span class="num">${words.attempt(task.attempt, task.max_attempts)}</span>
        ${task.worker && html`<span>${words.on(task.worker)}</span>`}
        ${task.state === "running" && html`<${Lease} until=${task.lease_expires_at} />`}
      </p>
      ${task.state === "running" && html`<p class="runs"><${Bar} value=${task.progress} label=${task.step} /><span class="num">${percent(task.progress)}</span><span class="dim">${task.message ?? task.phase}</span></p>`}
      ${task.failure && task.state !== "done" && html`<${Failure} job=${job} task=${task} />`}
      ${attempts.length > 0 && html`<h3>${words.attempts}</h3><${Attempts} attempts=${attempts} />`}
      <${Runs} job=${job} task=${task} />
    <//>
  `;
}

function Frame({ title, onClose, children }) {
  const element = useRef(null);
  useEffect(() => element.current.scrollIntoView({ block: "nearest" }), [title]);
  return html`
    <section class="panel taskpanel" aria-labelledby="picked" ref=${element}>
      <header><h2 id="picked">${title}</h2><span class="end"><button class="btn quiet small icon-only" aria-label=${words.closePanel} onClick=${onClose}><${Icon} name="close" /></button></span></header>
      <div class="in stack">${children}</div>
    </section>
  `;
}

/** How long the worker may be silent before its task is given to another. */
function Lease({ until }) {
  const left = useSignal(0);
  useEffect(() => {
    const look = () => (left.value = Math.round((Date.parse(until) - Date.now()) / 1000));
    look();
    const timer = setInterval(look, 1000);
    return () => clearInterval(timer);
  }, [until]);
  return html`<span class="num">${left.value > 0 ? words.lease(span(left.value)) : words.leaseOver}</span>`;
}

const Failure = ({ job, task }) => html`
  <${ErrorCard} code=${task.failure.error_code} title=${capital(task.failure.error)} hint=${sentence(task.failure.hint ?? words.noHint)}>
    ${canRetry(task) && may("write") && html`<button class="btn primary" onClick=${() => retry([job.job_id], { task_id: task.task_id })}><${Icon} name="retry" />${words.retryTask}</button>`}
    ${!canRetry(task) && task.run_at && html`<span class="dim">${words.nextTry(clock(task.run_at))}</span>`}
  <//>
  ${canRetry(task) && html`<${CopyCommands} commands=${commands.retry(job.job_id, { task_id: task.task_id })} />`}
`;

export const Attempts = ({ attempts, names }) => html`
  <ol class="tries">
    ${attempts.map((one) => html`
      <li key=${`${one.task_id}-${one.epoch}`}>
        <${Status} status=${words.outcomes[one.outcome]?.look ?? "warning"} word=${words.outcomes[one.outcome]?.word ?? one.outcome} />
        <span>${names && html`<b>${names(one.task_id)}</b> `}${words.tried(one.attempt, one.worker)}</span>
        <span class="num dim">${span((Date.parse(one.ended_at) - Date.parse(one.claimed_at)) / 1000)}</span>
        <${Time} at=${one.ended_at} />
        ${one.failure && html`<p dir="auto"><code>${one.failure.error_code}</code> ${one.failure.error}</p>`}
      </li>
    `)}
  </ol>
`;

/** The programs that ran for the task and what it wrote; read again when it moves on. */
function Runs({ job, task }) {
  const lines = useSignal([]);
  useEffect(() => {
    let isShown = true;
    get(`/jobs/${job.job_id}/logs`, { task_id: task.task_id, last: LAST_RUNS }).then(({ items }) => isShown && (lines.value = items), () => {});
    return () => (isShown = false);
  }, [job.job_id, task.task_id, task.state, task.lease_epoch]);
  const runs = lines.value.filter((line) => line.type === "execution");
  return html`<h3>${words.commands}</h3>${runs.length ? html`<${Executions} runs=${runs} />` : html`<p class="dim">${words.noCommands}</p>`}`;
}
