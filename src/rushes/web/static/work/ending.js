// How a job ended if it did not end well: who or what stopped it, and the next step.

import { html } from "../lib.js";
import { may } from "../api.js";
import { capital, count, sentence } from "../format.js";
import { url } from "../root.js";
import { CopyCommands } from "../parts/copy.js";
import { Icon } from "../parts/icon.js";
import { ErrorCard, Note } from "../parts/problem.js";
import { Time } from "../parts/time.js";
import { commands, retry } from "./actions.js";
import words from "../words/job.js";

export function Ending({ job }) {
  if (job.status === "failed") return html`<${Failed} job=${job} />`;
  if (job.status === "killed") return html`<${Killed} job=${job} />`;
  if (!job.reported.length) return null;
  return html`<${Note} look="warning" title=${words.warnings(job.warnings)}>${job.reported.map((one) => html`<p><code>${one.code}</code> ${one.message}</p>`)}<//>`;
}

const Again = ({ job, label, look = "btn" }) => may("write") && html`
  <button class=${look} onClick=${() => retry([job.job_id])}><${Icon} name="retry" />${label}</button>
`;

function Failed({ job }) {
  const reached = job.progress_at_failure;
  const seen = html`<span>${words.failed.seen} <${Time} at=${job.failed_at ?? job.finished_at} /></span>${reached && html`<span class="num">${words.failed.progress(count(reached.processed), count(reached.total))}</span>`}`;
  const link = job.failed_task_id && html`<a class="btn" href=${url(`/jobs/${job.job_id}?task=${job.failed_task_id}`)}>${job.failed_step}</a>`;
  return html`
    <${ErrorCard}
      code=${job.error_code} title=${capital(job.error)} hint=${sentence(job.hint ?? words.noHint)} seen=${seen}
      more=${html`<${CopyCommands} commands=${commands.retry(job.job_id)} />`}
    ><${Again} job=${job} label=${words.failed.retry} look="btn primary" />${link}<//>
  `;
}

function Killed({ job }) {
  const reached = job.progress_at_kill;
  return html`
    <div class="note is-killed">
      <${Icon} name="killed" />
      <h2 dir="auto">${words.killed.title(job.killed_by_name ?? job.killed_by)}${job.killed_reason && `: ${job.killed_reason}`}</h2>
      <p><${Time} at=${job.killed_at} />. ${reached && words.killed.at(count(reached.processed), count(reached.total))}</p>
      <p class="acts"><${Again} job=${job} label=${words.killed.retry} /></p>
    </div>
  `;
}
