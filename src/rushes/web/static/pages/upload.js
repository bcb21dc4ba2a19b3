// Upload: files and folders, what to make of them, and a queue whose rows turn into those of jobs.

import { html, useRef } from "../lib.js";
import { row } from "../store.js";
import { bytes, ordinal, percent, plural, span, speed } from "../format.js";
import { url } from "../root.js";
import { ofInput } from "../uploads/gather.js";
import { add, drop, move, open, order, pause, pauseAll, resume, resumeAll, sendAnyway, upload } from "../uploads/queue.js";
import { set, settings } from "../uploads/settings.js";
import { Still } from "../uploads/still.js";
import { isOver } from "../shell/drop.js";
import { Poster, doing, hasPoster } from "../parts/card.js";
import { CopyCommands, curl, quote } from "../parts/copy.js";
import { Icon } from "../parts/icon.js";
import { Bar } from "../parts/progress.js";
import { Status } from "../parts/status.js";
import steps from "../words/library.js";
import words from "../words/upload.js";

export default function Upload() {
  return html`
    <div class="page-head"><h1>${words.title}</h1><p>${words.lead}</p></div>
    <div class="uploader">
      <div class="stack"><${Chooser} />${order.value.length > 0 && html`<${Queue} />`}</div>
      <div class="stack"><${Settings} /><${Command} /></div>
    </div>
  `;
}

function Chooser() {
  const files = useRef(null);
  const folder = useRef(null);
  const taken = (event) => {
    add(ofInput(event.target));
    event.target.value = "";
  };
  const choose = async () => {
    if (!window.showOpenFilePicker) return files.current.click();
    const handles = await window.showOpenFilePicker({ multiple: true }).catch(() => []);
    return add(await Promise.all(handles.map(async (handle) => ({ file: await handle.getFile(), handle, folder: null }))));
  };
  return html`
    <section class=${isOver.value ? "drop is-over" : "drop"} aria-labelledby="drop">
      <${Icon} name="upload" /><h2 id="drop">${words.drop}</h2><p>${words.dropText}</p>
      <p class="acts">
        <button class="btn primary" onClick=${choose}>${words.choose}</button>
        <button class="btn" onClick=${() => folder.current.click()}>${words.folder}</button>
      </p>
      <input type="file" multiple hidden id="files" ref=${files} onChange=${taken} />
      <input type="file" webkitdirectory hidden id="folder" ref=${folder} onChange=${taken} />
    </section>
  `;
}

function Queue() {
  const left = open.value;
  const size = left.reduce((sum, one) => sum + one.size - one.sent, 0);
  const rate = left.reduce((sum, one) => sum + one.speed, 0);
  const isPaused = left.some((one) => one.state === "paused") && !left.some((one) => one.state === "sending");
  return html`
    <section class="panel" aria-labelledby="queue">
      <header>
        <h2 id="queue">${words.queue}</h2>
        ${left.length > 0 && html`
          <span class="faint num">${words.summary(plural(left.length, words.files), bytes(size), rate > 0 && words.left(span(size / rate)))}</span>
          <span class="end">
            <button class="btn small" onClick=${isPaused ? resumeAll : pauseAll}><${Icon} name=${isPaused ? "play" : "pause"} />${isPaused ? words.resumeAll : words.pauseAll}</button>
          </span>
        `}
      </header>
      <ul class="files">${order.value.map((id) => html`<${Row} key=${id} id=${id} />`)}</ul>
    </section>
  `;
}

function Row({ id }) {
  const item = upload(id)?.value;
  if (!item) return null;
  const video = item.asset_id ? row("videos", item.asset_id).value : null;
  return html`
    <li class="row">
      <${Frame} item=${item} video=${video} />
      <div class="name" dir="auto">${item.name}<small class="num">${item.state === "done" ? words.uploaded(bytes(item.size)) : [bytes(item.size), item.folder].filter(Boolean).join(" · ")}</small></div>
      <div class="st">${item.state === "done" ? html`<${Made} item=${item} video=${video} />` : html`<${State} item=${item} />`}</div>
      <div class="acts"><${Actions} item=${item} /></div>
    </li>
  `;
}

/** The poster as soon as there is one; before, a frame of the file, unless it only waits in line. */
function Frame({ item, video }) {
  if (hasPoster(video)) return html`<${Poster} video=${video} />`;
  if (item.state === "waiting") return html`<div class="poster poster-none"><${Icon} name="frame" /></div>`;
  return html`<${Still} id=${item.id} />`;
}

function State({ item }) {
  const value = (100 * item.sent) / Math.max(1, item.size);
  switch (item.state) {
    case "sending":
    case "paused":
      return html`
        <${Bar} value=${value} label=${words.uploadOf(item.name)} />
        <p class="num">${[percent(value), item.state === "paused" && words.states.paused, item.speed > 0 && speed(item.speed),
          item.speed > 0 && words.left(span((item.size - item.sent) / item.speed)), item.wasResumed && words.resumed].filter(Boolean).join(", ")}</p>
      `;
    case "duplicate":
      return html`
        <${Status} status="warning" word=${words.states.duplicate} />
        <p>${words.sameAs} <a href=${url(`/v/${item.same.asset_id}`)}>${item.same.title ?? words.aVideo}</a>. <button class="link" onClick=${() => sendAnyway(item.id)}>${words.anyway}</button></p>
      `;
    case "failed":
      return html`<${Status} status="failed" word=${item.problem.message} /><p>${item.problem.hint} <button class="link" onClick=${() => resume(item.id)}>${words.again}</button></p>`;
    case "lost":
      return html`
        <${Status} status="warning" word=${words.states.lost} /><p>${words.lost(percent(value))}</p>
        <p><label class="btn small">${words.chooseAgain}<input class="sr" type="file" onChange=${(event) => add(ofInput(event.target))} /></label></p>
      `;
    case "asks":
      return html`<${Status} status="warning" word=${words.states.asks} /><p>${words.asks(percent(value))}</p><p><button class="btn small" onClick=${() => resume(item.id)}>${words.goOn}</button></p>`;
    default:
      return html`<${Status} status="queued" word=${item.state === "waiting" ? words.inLine(ordinal(lineOf(item.id))) : words.states[item.state]} />`;
  }
}

const lineOf = (id) => open.value.filter((one) => one.state === "waiting").findIndex((one) => one.id === id) + 1;

/** What became of it: the steps of its job, live. */
function Made({ item, video }) {
  const work = video?.work;
  const status = !video || work ? null : video.status === "failed" ? "failed" : "completed";
  return html`
    ${work && html`<p class="pipe">${Object.entries(work.steps).map(([step, states]) => html`<${Step} step=${step} states=${states} />`)}</p>`}
    ${status && html`<${Status} status=${status} word=${status === "failed" ? video.error : words.ready} />`}
    <p>
      ${work && `${doing(work).now}, ${percent(work.percent)}. `}
      ${video?.playable_at && html`<a href=${url(`/v/${item.asset_id}`)}>${work ? words.playable : words.watch}</a> `}
      <a href=${url(`/jobs/${item.job_id}`)}>${words.openJob}</a>
    </p>
  `;
}

function Step({ step, states }) {
  const all = Object.values(states).reduce((sum, n) => sum + n, 0);
  const done = (states.done ?? 0) + (states.skipped ?? 0);
  const status = states.error ? "failed" : states.running ? "running" : all && done === all ? "completed" : "queued";
  const name = steps.short[step] ?? step;
  return html`<${Status} status=${status} word=${status === "running" && all > 1 ? `${name} ${done}/${all}` : name} />`;
}

function Actions({ item }) {
  const act = (icon, label, onClick) => html`<button class="btn quiet small icon-only" aria-label=${label(item.name)} onClick=${onClick}><${Icon} name=${icon} /></button>`;
  const canMove = item.state === "waiting" && lineOf(item.id) > 1;
  return html`
    ${canMove && act("up", words.earlier, () => move(item.id, -1))}
    ${item.state === "sending" && act("pause", words.pause, () => pause(item.id))}
    ${item.state === "paused" && act("play", words.resume, () => resume(item.id))}
    ${act("close", item.state === "done" ? words.take : words.cancel, () => drop(item.id))}
  `;
}

function Settings() {
  const { text, qualities, languages, priority, tags } = settings.value;
  const on = (name) => (event) => set({ [name]: event.target.value });
  return html`
    <form class="panel" aria-labelledby="settings" onSubmit=${(event) => event.preventDefault()}>
      <header><h2 id="settings">${words.settings}</h2></header>
      <div class="in stack">
        <fieldset>
          <legend>${words.make}</legend>
          ${Object.entries(words.presets).map(([value, [name, help]]) => html`
            <label class="choice"><input type="radio" name="text" value=${value} checked=${text === value} onChange=${on("text")} /><b>${name}</b><small>${help}</small></label>
          `)}
        </fieldset>
        <${Choice} id="qualities" label=${words.qualities} value=${qualities} choices=${words.qualityChoices} onChange=${on("qualities")} help=${words.never} />
        <div class="two">
          <div class="field"><label for="languages">${words.languages}</label><input class="input" id="languages" value=${languages} onInput=${on("languages")} /><span class="help">${words.languagesHelp}</span></div>
          <${Choice} id="priority" label=${words.priority} value=${priority} choices=${words.priorities} onChange=${on("priority")} />
        </div>
        <div class="field"><label for="tags">${words.tags}</label><input class="input" id="tags" value=${tags} onInput=${on("tags")} /><span class="help">${words.tagsHelp}</span></div>
      </div>
    </form>
  `;
}

const Choice = ({ id, label, value, choices, onChange, help }) => html`
  <div class="field">
    <label for=${id}>${label}</label>
    <select class="select" id=${id} onChange=${onChange}>
      ${Object.entries(choices).map(([name, text]) => html`<option value=${name} selected=${name === value}>${text}</option>`)}
    </select>
    ${help && html`<span class="help">${help}</span>`}
  </div>
`;

/** The same with the command line, with what is set above. */
function Command() {
  const { text, qualities, languages, priority, tags } = settings.value;
  const options = [
    text === "false" && "--no-text", qualities && `--qualities ${qualities}`, languages !== "en" && `--languages ${quote(languages.replaceAll(" ", ""))}`,
    priority !== "normal" && `--priority ${priority}`, ...tags.split(",").map((tag) => tag.trim()).filter(Boolean).map((tag) => `--tag ${quote(tag)}`),
  ].filter(Boolean);
  return html`<${CopyCommands} commands=${{ CLI: ["rushes add FILE", ...options].join(" "), curl: `${curl("POST", "/videos")} \\\n  -F file=@FILE` }} />`;
}
