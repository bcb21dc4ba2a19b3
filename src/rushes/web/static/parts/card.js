// A video as a frame and a few words. It reads one row of the store, so an event that changes this
// video renders this card and nothing else.

import { html, useSignal } from "../lib.js";
import { may } from "../api.js";
import { refresh, row } from "../store.js";
import { clock, count, duration, eta, noun, percent, sentence, sharpness } from "../format.js";
import { url } from "../root.js";
import { seen } from "../seen.js";
import { Icon } from "./icon.js";
import { Developing } from "./progress.js";
import { Scrubber } from "./scrubber.js";
import { Status } from "./status.js";
import { retry } from "../work/actions.js";
import words from "../words/library.js";

export function Card({ id, isLead = false }) {
  const video = row("videos", id).value;
  if (!video) return null;
  return html`
    <li class=${isLead ? "card lead" : "card"}>
      <${Poster} video=${video} />
      <div class="body">
        <h3><a href=${url(`/v/${id}`)} dir="auto">${video.title}</a></h3>
        <${Lines} video=${video} />
      </div>
    </li>
  `;
}

/** Whether there is a poster: whoever asks for it before gets an error. */
export const hasPoster = (video) => Boolean(video?.playable_at && (!video.work || video.status === "ready" || video.work.steps.thumbnail?.done));

/** The picture of a video in any state: developing, ready, or none yet. */
export function Poster({ video }) {
  const failed = useSignal(null);
  const src = url(`/api/videos/${video.asset_id}/poster.jpg`);
  const hasPicture = hasPoster(video) && failed.value !== video.updated_at;
  const isOpen = video.status === "pending" || video.status === "processing";
  if (!hasPicture) return html`<div class="poster poster-none"><${NoPicture} video=${video} /></div>`;
  if (isOpen) {
    return html`
      <${Developing} src=${src} value=${video.work?.percent ?? 0}><${Chip} video=${video} /><${Length} video=${video} /><//>
    `;
  }
  return html`
    <div class="poster">
      <img src=${src} alt="" width="640" height="360" loading="lazy" onError=${() => (failed.value = video.updated_at)} />
      <${Scrubber} id=${video.asset_id} />
      ${video.work && html`<${Chip} video=${video} />`}
      <${Length} video=${video} />
      ${seen(video.asset_id) && html`<span class="scrub" style=${{ "--p": seen(video.asset_id) }}></span>`}
    </div>
  `;
}

const NoPicture = ({ video }) => html`
  <${Icon} name=${video.status === "failed" ? "failed" : "frame"} />
  <${Chip} video=${video} /><${Length} video=${video} />
  ${video.status === "failed" && html`<code>${video.error_code}</code>`}
`;

function Chip({ video }) {
  if (video.status === "failed") return html`<${Status} chip status=${video.job_status === "killed" ? "killed" : "failed"} />`;
  if (video.status === "pending") return html`<${Status} chip status="queued" />`;
  if (!video.work) return null;
  return html`<${Status} chip status="running" word=${percent(video.work.percent)} />`;
}

const Length = ({ video }) => video.duration_ms && html`
  <span class="dur"><span>${sharpness(video.width, video.height)}</span>${duration(video.duration_ms)}</span>
`;

function Lines({ video }) {
  if (video.status === "failed") return html`<${Failure} video=${video} />`;
  if (video.status === "pending") return html`<p class="line">${sentence(video.work?.waits_for ?? words.waiting)}</p>`;
  if (video.work) {
    const { now, left } = doing(video.work);
    const said = [video.playable_at && words.playable, video.playable_at && !video.searchable_at && words.searchableSoon].filter(Boolean);
    return html`
      <p class="line"><b>${now}</b>${left && html`, <span class="together">${left}</span>`}</p>
      <p class="meta">${said.map((one) => html`<span>${one}</span>`)}</p>
    `;
  }
  return html`
    <p class="meta">
      ${video.searchable_at && html`<span><b>${count(video.texts)}</b> ${noun(video.texts, words.texts)}</span>`}
      <span>${clock(video.created_at)}</span>
      ${video.tags.slice(0, 2).map((tag) => html`<span>#${tag}</span>`)}
    </p>
  `;
}

/** What is being done, in words: {now: "Transcode 58 of 96 chunks", left: "about 5 min"} */
export function doing(work) {
  const running = Object.entries(work.steps).filter(([, states]) => states.running);
  const [name, states] = running.find(([step]) => step === work.step) ?? running.at(-1) ?? Object.entries(work.steps).findLast(([, some]) => some.done) ?? [];
  if (!name) return { now: words.waiting, left: null };
  const all = Object.values(states).reduce((sum, n) => sum + n, 0);
  const step = words.steps[name] ?? name;
  const now = all > 1 ? words.of(step, count(states.done ?? 0), count(all), words.units[name] ?? "") : step;
  return { now, left: eta(work.eta_seconds) };
}

/** Try the job of a video again that failed. */
export async function tryAgain(video) {
  await retry([video.job_id]);
  refresh("videos", video.asset_id);
}

function Failure({ video }) {
  return html`
    <p class="line">${sentence(video.error)}</p>
    <p class="acts">
      <a class="btn small" href=${url(`/jobs/${video.job_id}`)}>${words.why}</a>
      ${may("write") && html`<button class="btn small" onClick=${() => tryAgain(video)}><${Icon} name="retry" />${words.retry}</button>`}
    </p>
  `;
}
