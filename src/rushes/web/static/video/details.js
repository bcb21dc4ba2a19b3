// What people call the video, what is known about it, and the way to take it away.

import { html, useSignal } from "../lib.js";
import { get, may, patch, post, remove } from "../api.js";
import { keep, refresh } from "../store.js";
import { bytes, duration } from "../format.js";
import { CopyCommands, curl, quote } from "../parts/copy.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { Note } from "../parts/problem.js";
import { Time } from "../parts/time.js";
import { say, sayProblem } from "../parts/toast.js";
import all from "../words/video.js";

const words = all.details;

export const Details = ({ video }) => html`
  <div class="split">
    <div>${may("write") && html`<${Names} video=${video} />`}<${Decisions} video=${video} /></div>
    <div><${Facts} video=${video} />${may("write") && html`<${Delete} video=${video} />`}</div>
  </div>
`;

/** Saved only if nobody else changed it since it was shown: two people never undo each other unseen. */
function Names({ video }) {
  const seen = useSignal(video.revision);
  const conflict = useSignal(false);
  const title = useSignal(video.title);
  const tags = useSignal(video.tags.join(", "));
  const wanted = { title: title.value.trim() || video.title, tags: tags.value.split(",").map((tag) => tag.trim()).filter(Boolean) };
  const path = `/videos/${video.asset_id}`;
  const look = async () => {
    try {
      seen.value = keep("videos", await get(path)).value.revision;
      conflict.value = true;
    } catch (problem) {
      sayProblem(problem);
    }
  };
  const save = async (event) => {
    event.preventDefault();
    try {
      const saved = await patch(path, wanted, { "If-Match": `"${seen.value}"` });
      keep("videos", { asset_id: video.asset_id, title: saved.title, tags: saved.tags, revision: saved.revision });
      seen.value = saved.revision;
      conflict.value = false;
      say(words.saved);
    } catch (problem) {
      if (problem.status !== 412) return sayProblem(problem);
      await look();
    }
  };
  return html`
    <form class="stack" onSubmit=${save}>
      <div class="field"><label for="v-title">${words.title}</label><input class="input" id="v-title" maxlength="500" value=${title.value} onInput=${(event) => (title.value = event.target.value)} /></div>
      <div class="field"><label for="v-tags">${words.tags}</label><input class="input" id="v-tags" value=${tags.value} onInput=${(event) => (tags.value = event.target.value)} /><span class="help">${words.tagsHelp}</span></div>
      ${conflict.value && html`<${Note} look="warning" title=${words.changed}><p>${video.title} · ${video.tags.join(", ")}</p><//>`}
      <p><button class="btn">${words.save}</button></p>
      <${CopyCommands} commands=${{ curl: curl("PATCH", path, wanted), Python: `client.videos.edit("${video.asset_id}", title=${JSON.stringify(wanted.title)})` }} />
    </form>
  `;
}

function Facts({ video }) {
  const facts = {
    file: video.filename, bytes: bytes(video.bytes), length: video.duration_ms && duration(video.duration_ms),
    picture: video.width && all.size(video.width, video.height), added: html`<${Time} at=${video.created_at} />`,
    playable: video.playable_at && html`<${Time} at=${video.playable_at} />`, searchable: video.searchable_at && html`<${Time} at=${video.searchable_at} />`,
    sha256: html`<code>${video.sha256}</code>`, id: html`<code>${video.asset_id}</code>`, folder: video.files?.folder && html`<code>${video.files.folder}</code>`,
  };
  const known = Object.entries(facts).filter(([, value]) => value);
  return html`<dl class="kv">${known.map(([name, value]) => html`<dt>${words[name]}</dt><dd dir="auto">${value}</dd>`)}</dl>`;
}

const Decisions = ({ video }) => video.decisions?.length > 0 && html`
  <section>
    <h2>${words.decisions}</h2>
    <ul class="decisions">${video.decisions.map(({ what, why }) => html`<li><b>${what}</b> <span class="dim">${why}</span></li>`)}</ul>
  </section>
`;

function Delete({ video }) {
  const asks = useSignal(false);
  const path = `/videos/${video.asset_id}`;
  const undo = () => post(`${path}/restore`).then(() => refresh("videos", video.asset_id), sayProblem);
  const act = async () => {
    asks.value = false;
    try {
      keep("videos", await remove(path));
      say(words.deleted, { action: { label: words.undo, onClick: undo } });
    } catch (problem) {
      sayProblem(problem);
    }
  };
  return html`
    <p><button type="button" class="btn danger" onClick=${() => (asks.value = true)}><${Icon} name="close" />${words.deleteIt}</button></p>
    ${asks.value && html`
      <${Dialog}
        title=${words.deleteTitle(video.title)} onClose=${() => (asks.value = false)}
        actions=${html`<button class="btn" onClick=${() => (asks.value = false)}>${words.keep}</button><button class="btn danger" onClick=${act}>${words.deleteIt}</button>`}
      >
        <p>${words.deleteText}</p>
        <${CopyCommands} commands=${{ CLI: `rushes rm ${quote(video.asset_id)}`, curl: curl("DELETE", path) }} />
      <//>
    `}
  `;
}
