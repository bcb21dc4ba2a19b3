// Dialogs about jobs: stop them, and every action as a command.

import { html, useSignal } from "../lib.js";
import { CopyCommands } from "../parts/copy.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { commands, forEach, kill } from "./actions.js";
import { canRetry, isOpen } from "./row.js";
import words from "../words/actions.js";

const told = words.killDialog;

/** Ask for a reason, which may be left out, then stop these jobs. */
export function KillDialog({ ids, onClose, onDone }) {
  const reason = useSignal("");
  const act = async (event) => {
    event.preventDefault();
    onClose();
    await kill(ids, reason.value.trim());
    onDone?.();
  };
  const buttons = html`
    <button type="button" class="btn" onClick=${onClose}>${told.keep}</button>
    <button type="submit" form="kill" class="btn danger"><${Icon} name="stop" />${told.act(ids.length)}</button>
  `;
  return html`
    <${Dialog} title=${told.title(ids.length)} onClose=${onClose} actions=${buttons}>
      <p>${told.text}</p>
      <form id="kill" class="field" onSubmit=${act}>
        <label for="reason">${told.reason} <span class="tag">${told.optional}</span></label>
        <input class="input" id="reason" maxlength="500" autocomplete="off" autofocus onInput=${(event) => (reason.value = event.target.value)} />
        <p class="help">${told.reasonHelp}</p>
      </form>
      <${CopyCommands} commands=${forms(ids, (id) => commands.kill(id, reason.value.trim()))} />
    <//>
  `;
}

const forms = (ids, action) => (ids.length === 1 ? action(ids[0]) : forEach(ids, action));

/** What can be done now to these jobs, as commands. */
export function CommandsDialog({ jobs, onClose }) {
  const those = (test) => jobs.filter(test).map((job) => job.job_id);
  const open = those(isOpen);
  const shown = {
    show: [those(() => true), commands.show], retry: [those(canRetry), commands.retry],
    priority: [open, (id) => commands.priority(id, "high")], kill: [open, (id) => commands.kill(id)],
  };
  const [job] = jobs;
  const made = jobs.length === 1 && !isOpen(job) ? (job.qualities ?? []) : [];
  const one = (name, title, texts) => html`<div class="stack tight" key=${name}><h3>${title}</h3><${CopyCommands} commands=${texts} /></div>`;
  return html`
    <${Dialog} title=${words.commandsTitle} onClose=${onClose} actions=${html`<button type="button" class="btn" onClick=${onClose}>${words.close}</button>`}>
      ${Object.entries(shown).map(([name, [meant, action]]) => meant.length > 0 && one(name, words.commandsFor[name], forms(meant, (id) => action(id))))}
      ${made.map(({ quality }) => one(quality, words.anew(quality), commands.quality(job, quality)))}
    <//>
  `;
}
