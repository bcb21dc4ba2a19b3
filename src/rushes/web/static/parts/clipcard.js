// A clip: it plays at once from the film's own segments, and from its file as soon as that is there.

import { html, useEffect, useRef, useSignal } from "../lib.js";
import { may, remove } from "../api.js";
import { forget, row } from "../store.js";
import { bytes, duration, percent, timecode } from "../format.js";
import { url } from "../root.js";
import { Loop } from "../player/loop.js";
import { isCalm } from "../player/player.js";
import { copy, CopyCommands, curl } from "./copy.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icon.js";
import { Bar } from "./progress.js";
import { Status } from "./status.js";
import { Time } from "./time.js";
import { say, sayProblem } from "./toast.js";
import words from "../words/clip.js";

export const timesOf = (clip) => `${timecode(clip.actual_start)} – ${timecode(clip.actual_end ?? clip.end_ms)}`;

const lengthOf = (clip) => (clip.actual_end ?? clip.end_ms) - (clip.actual_start ?? clip.start_ms);

/** What is on its label: its own title, that of its video, or its times. */
const nameOf = (clip) => clip.title ?? row("videos", clip.video_id).value?.title ?? words.of(timesOf(clip));

/** How to ask for a clip from elsewhere. */
export function commandsOf({ video_id, t_start, t_end, padding_ms, mode }) {
  const fast = mode === "fast" ? " --fast" : "";
  return {
    CLI: `rushes clip ${video_id} --from ${t_start / 1000} --to ${t_end / 1000} --padding ${padding_ms / 1000}${fast} -o clip.mp4`,
    curl: curl("POST", "/clips", { video_id, t_start, t_end, padding_ms, mode }),
  };
}

/** One that was made just now: it plays by itself, once. */
export function MadeClip({ id }) {
  const clip = row("clips", id).value;
  return clip && html`
    <section class="madeclip" aria-label=${words.of(timesOf(clip))}>
      <${Picture} clip=${clip} isPlaying=${!isCalm()} />
      <div class="body">
        <p role="status"><${State} clip=${clip} /> ${clip.url ? words.isReady : clip.error ?? words.plays} ${clip.hint}</p>
        <p class="tc">${timesOf(clip)}</p>
        <${Actions} clip=${clip} isNew />
        <details class="provenance"><summary>${words.asCommand}</summary><${CopyCommands} commands=${commandsOf(clip)} /></details>
      </div>
    </section>
  `;
}

/** One in a grid, with its source. */
export function ClipCard({ id, isOfVideo = false }) {
  const clip = row("clips", id).value;
  if (!clip) return null;
  return html`
    <li class="card clipcard">
      <${Picture} clip=${clip} />
      <div class="body">
        <h2 dir="auto">${isOfVideo ? timesOf(clip) : nameOf(clip)}</h2>
        <p class="meta">
          ${!isOfVideo && html`<span class="tc">${timesOf(clip)}</span>`}<span>${words.modes[clip.mode]}</span>
          ${clip.bytes && html`<span>${bytes(clip.bytes)}</span>`}
        </p>
        <p class="meta"><span>${words.made} <${Time} at=${clip.created_at} /> ${clip.made_by && words.by(clip.made_by)}</span><span>${words.expires} <${Time} at=${clip.expires_at} /></span></p>
        ${clip.status !== "completed" && html`<p class="line"><${State} clip=${clip} /> ${clip.error} ${clip.hint}</p>`}
        <${Actions} clip=${clip} />
        <${Provenance} clip=${clip} />
      </div>
    </li>
  `;
}

const State = ({ clip }) => clip.status === "running"
  ? html`<${Status} status="running" word=${percent(clip.percent)} /><${Bar} value=${clip.percent} label=${words.of(timesOf(clip))} />`
  : html`<${Status} status=${clip.status} />`;

/** Its picture plays by a click, from where it begins to where it ends, again and again. */
function Picture({ clip, isPlaying = false }) {
  const isOn = useSignal(isPlaying);
  const name = words.play(`${nameOf(clip)}, ${timesOf(clip)}`);
  if (!isOn.value) {
    return html`
      <button type="button" class="poster" aria-label=${name} onClick=${() => (isOn.value = true)}>
        <${Still} clip=${clip} /><${Icon} name="play" /><span class="dur">${duration(lengthOf(clip))}</span>
      </button>
    `;
  }
  const length = clip.url ? clip.actual_end - clip.actual_start : clip.end_ms - clip.start_ms;
  return html`<${Loop} source=${url(clip.url ?? clip.playlist)} length=${length / 1000} label=${name} key=${clip.url ?? ""} isHeard />`;
}

/** Its first frame, fetched when it comes into sight; until there is a file, the poster of its video. */
function Still({ clip }) {
  const element = useRef(null);
  const isSeen = useSignal(false);
  useEffect(() => {
    const watcher = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && (isSeen.value = true));
    watcher.observe(element.current);
    return () => watcher.disconnect();
  }, []);
  const poster = url(`/api/videos/${clip.video_id}/poster.jpg`);
  if (clip.url && isSeen.value) return html`<video src=${url(clip.url)} preload="metadata" muted playsinline tabindex="-1" aria-hidden="true"></video>`;
  return html`<img ref=${element} src=${poster} alt="" width="640" height="360" loading="lazy" />`;
}

function Actions({ clip, isNew = false }) {
  const asks = useSignal(false);
  const link = location.origin + url(`/api/clips/${clip.clip_id}/file`);
  const act = async () => {
    asks.value = false;
    try {
      await remove(`/clips/${clip.clip_id}`);
      forget("clips", clip.clip_id);
      say(words.deleted);
    } catch (problem) {
      sayProblem(problem);
    }
  };
  return html`
    <div class="acts">
      ${clip.url && html`<a class=${isNew ? "btn small primary" : "btn small"} href=${url(clip.url)} download><${Icon} name="download" />${words.download}</a>`}
      ${isNew ? html`<button type="button" class="btn small quiet" onClick=${() => copy(link)}><${Icon} name="link" />${words.copyLink}</button>` : html`
        <a class="btn small quiet icon-only" href=${url(`/v/${clip.video_id}?t=${clip.t_start / 1000}&end=${clip.t_end / 1000}`)} aria-label=${words.openVideo} title=${words.openVideo}><${Icon} name="frame" /></a>
        <button type="button" class="btn small quiet icon-only" aria-label=${words.copyLink} title=${words.copyLink} onClick=${() => copy(link)}><${Icon} name="link" /></button>
        ${may("write") && html`<button type="button" class="btn small quiet icon-only" aria-label=${words.deleteOne} title=${words.deleteOne} onClick=${() => (asks.value = true)}><${Icon} name="close" /></button>`}
      `}
    </div>
    ${asks.value && html`
      <${Dialog}
        title=${words.deleteLong(nameOf(clip))} onClose=${() => (asks.value = false)}
        actions=${html`<button class="btn" onClick=${() => (asks.value = false)}>${words.keep}</button><button class="btn danger" onClick=${act}>${words.deleteOne}</button>`}
      >
        <p>${words.deleteText}</p>
        <${CopyCommands} commands=${{ CLI: `rushes clips delete ${clip.clip_id}`, curl: curl("DELETE", `/clips/${clip.clip_id}`) }} />
      <//>
    `}
  `;
}

/** Enough to make it again, and to see that nobody changed it. */
function Provenance({ clip }) {
  const told = clip.provenance;
  if (!told) return null;
  const facts = {
    source: html`<code>${told.source_sha256}</code>`, file: html`<code>${clip.sha256}</code>`,
    cut: timesOf(clip), asked: words.askedFor(`${timecode(clip.t_start)} – ${timecode(clip.t_end)}`, clip.padding_ms / 1000),
    size: `${clip.width} × ${clip.height}`, frames: clip.frames, tools: told.tools.join(", "), command: html`<code>${told.command.join(" ")}</code>`,
  };
  return html`
    <details class="provenance">
      <summary>${words.provenance}</summary>
      <dl class="kv">${Object.entries(facts).map(([name, value]) => html`<dt>${words.facts[name]}</dt><dd>${value}</dd>`)}</dl>
    </details>
  `;
}
