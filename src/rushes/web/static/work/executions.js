// Programs that stages ran: the command, how it ended, and the end of what it said.

import { html } from "../lib.js";
import { clock, span } from "../format.js";
import { quote } from "../parts/copy.js";
import { Status } from "../parts/status.js";
import words from "../words/job.js";

const lineOf = (command) => (Array.isArray(command) ? command.map((word) => quote(String(word))).join(" ") : String(command ?? ""));

export const Executions = ({ runs, names }) => html`
  <ol class="execs">
    ${runs.map((run) => html`
      <li key=${run.id}>
        <details>
          <summary>
            <${Status} status=${run.exit_code === 0 ? "done" : "error"} word=${run.exit_code == null ? words.noExit : words.exit(run.exit_code)} />
            <b>${run.program}</b>${names && html`<span class="dim">${names(run.task_id)}</span>`}
            <span class="num dim">${run.duration_ms == null ? "" : span(run.duration_ms / 1000)}</span>
            ${run.started_at && html`<time class="tc faint" datetime=${run.started_at}>${clock(run.started_at)}</time>`}
          </summary>
          <pre class="log" tabindex="0">${lineOf(run.command)}</pre>
          ${(run.stderr || run.error) && html`<pre class="log" tabindex="0">${run.stderr || run.error}</pre>`}
        </details>
      </li>
    `)}
  </ol>
`;
