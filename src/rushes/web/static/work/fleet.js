// Dialogs about workers: let one join, its keys, and the same as commands.

import { html, useEffect, useSignal } from "../lib.js";
import { get, post, remove } from "../api.js";
import { row } from "../store.js";
import { clock } from "../format.js";
import { url } from "../root.js";
import { CopyCommands, copy, curl, quote } from "../parts/copy.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { ProblemNote } from "../parts/problem.js";
import { Time } from "../parts/time.js";
import { sayProblem } from "../parts/toast.js";
import words from "../words/workers.js";

const told = words.invite;
const LIVES = { 900: told.lives[900], 3600: told.lives[3600], 86400: told.lives[86400] };

/** Something that is shown this once, with a button to copy it. */
const Secret = ({ text, label }) => html`
  <div class="secret"><pre tabindex="0" aria-label=${label}>${text}</pre><button type="button" class="btn" onClick=${() => copy(text)}><${Icon} name="copy" />${words.copy}</button></div>
`;

/** Make a token with which one machine may join, and show the line to paste there. */
export function InviteDialog({ onClose }) {
  const life = useSignal("900");
  const made = useSignal(null);
  const problem = useSignal(null);
  const make = async (event) => {
    event.preventDefault();
    try {
      const token = await post("/workers/tokens", { expires_in: Number(life.value) });
      made.value = { ...token, until: Date.now() + token.expires_in * 1000 };
    } catch (refusal) {
      problem.value = refusal;
    }
  };
  const line = made.value && `rushes worker join ${location.origin}${url("")} --token ${made.value.token}`;
  const buttons = made.value
    ? html`<button type="button" class="btn primary" onClick=${onClose}>${words.done}</button>`
    : html`<button type="button" class="btn" onClick=${onClose}>${words.cancel}</button><button type="submit" form="invite" class="btn primary">${told.make}</button>`;
  return html`
    <${Dialog} title=${told.title} onClose=${onClose} actions=${buttons}>
      ${problem.value && html`<${ProblemNote} problem=${problem.value} />`}
      ${made.value ? html`
        <p>${told.paste}</p>
        <${Secret} text=${line} label=${told.line} />
        <p>${told.until(clock(made.value.until))}</p>
        <p>${told.then} <code>rushes worker run</code></p>
      ` : html`
        <p>${told.text}</p>
        <form id="invite" class="field" onSubmit=${make}>
          <label for="life">${told.life}</label>
          <select class="select" id="life" value=${life.value} onChange=${(event) => (life.value = event.target.value)}>
            ${Object.entries(LIVES).map(([seconds, text]) => html`<option value=${seconds}>${text}</option>`)}
          </select>
        </form>
        <${CopyCommands} commands=${{ CLI: `rushes workers invite --minutes ${life.value / 60}`, curl: curl("POST", "/workers/tokens", { expires_in: Number(life.value) }) }} />
      `}
    <//>
  `;
}

/** The keys of a worker: which there are, another one (shown once), and their end. */
export function KeysDialog({ id, onClose }) {
  const worker = row("workers", id).value;
  const keys = useSignal(null);
  const made = useSignal(null);
  const doing = async (work) => {
    try {
      const answer = await work();
      if (answer.api_key) made.value = answer.api_key;
      keys.value = (await get(`/workers/${id}/keys`)).items;
    } catch (problem) {
      sayProblem(problem);
    }
  };
  useEffect(() => {
    doing(() => get(`/workers/${id}/keys`));
  }, [id]);
  const buttons = html`
    <button type="button" class="btn" onClick=${() => doing(() => post(`/workers/${id}/keys`, {}))}><${Icon} name="plus" />${words.key.add}</button>
    <button type="button" class="btn primary" onClick=${onClose}>${words.done}</button>
  `;
  return html`
    <${Dialog} title=${words.key.title(worker?.name)} onClose=${onClose} actions=${buttons}>
      ${made.value && html`<p>${words.key.once}</p><${Secret} text=${made.value} label=${words.key.new} />`}
      ${keys.value && !keys.value.length && html`<p>${words.key.none}</p>`}
      <ul class="keylines">
        ${(keys.value ?? []).map((key) => html`
          <li key=${key.key_id}>
            <span><b class="mono">${key.key_id}</b><small>${words.key.made} <${Time} at=${key.created_at} />${key.used_at && html`, ${words.key.used} <${Time} at=${key.used_at} />`}${key.kinds && `, ${key.kinds.join(", ")}`}</small></span>
            <button type="button" class="btn small danger" onClick=${() => doing(() => remove(`/workers/${id}/keys/${key.key_id}`))}>${words.key.revoke}</button>
          </li>
        `)}
      </ul>
      <${CopyCommands} commands=${{ CLI: `rushes workers keys ${quote(worker?.name ?? id)} --add`, curl: curl("POST", `/workers/${id}/keys`, {}) }} />
    <//>
  `;
}

export function WorkerCommands({ id, onClose }) {
  const name = quote(row("workers", id).value?.name ?? id);
  return html`
    <${Dialog} title=${words.commands} onClose=${onClose} actions=${html`<button type="button" class="btn" onClick=${onClose}>${words.done}</button>`}>
      ${["drain", "disable", "resume"].map((state) => html`
        <div class="stack tight" key=${state}><h3>${words.acts[state]}</h3><${CopyCommands} commands=${{ CLI: `rushes workers ${state} ${name}`, curl: curl("PATCH", `/workers/${id}`, { state }) }} /></div>
      `)}
    <//>
  `;
}
