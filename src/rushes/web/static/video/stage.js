// The picture and what lies below it; before there is one, how far it is.

import { html } from "../lib.js";
import { may } from "../api.js";
import { capital, percent, sentence } from "../format.js";
import { url } from "../root.js";
import { doing, Poster, tryAgain } from "../parts/card.js";
import { Icon } from "../parts/icon.js";
import { ErrorCard } from "../parts/problem.js";
import { Bar } from "../parts/progress.js";
import { Boxes } from "../player/boxes.js";
import { PlayerView } from "../player/view.js";
import { ClipForm } from "./clipform.js";
import { Timeline } from "./timeline.js";
import words from "../words/video.js";

export const Stage = ({ video, bench: { player, texts, clip }, frame, captions, tracks, boxes, question }) => html`
  <${PlayerView} player=${player} video=${video} frame=${frame} captions=${captions} tracks=${tracks} boxes=${texts.all.value.length ? boxes : null}>
    ${boxes.value && html`<${TextBoxes} video=${video} texts=${texts} />`}
  <//>
  ${video.work && html`<${Growing} video=${video} />`}
  ${video.status === "failed" && html`<${Failure} video=${video} />`}
  <${Timeline} video=${video} player=${player} clip=${clip} question=${question} />
  <${ClipForm} clip=${clip} />
`;

const TextBoxes = ({ video, texts }) => texts.player.isShown.value && html`
  <${Boxes} video=${video} boxes=${texts.active.value.map((text) => ({ ...text.box, isMarked: text.number === texts.current.value }))} />
`;

/** It plays already, and more of it comes. */
function Growing({ video }) {
  const { now, left } = doing(video.work);
  return html`
    <p class="growing" role="status">
      <b class="num">${percent(video.work.percent)}</b> <span>${now}${left && `, ${left}`}</span>
      <span class="dim">${comes(video)}</span>
      <${Bar} value=${video.work.percent} label=${words.progress} />
    </p>
  `;
}

/** What is still to come: more of the film, its text, or another version. */
function comes({ status, work }) {
  if (status !== "ready") return words.growing;
  const encoded = Object.keys(work.steps.transcode ?? {});
  return encoded.length && encoded.every((state) => state === "done") ? words.reading : words.newVersion;
}

/** Nothing plays yet: the poster develops, or it says why there will be none. */
export function InWork({ video }) {
  if (video.status === "failed") return html`<${Failure} video=${video} />`;
  const { now, left } = video.work ? doing(video.work) : { now: words.waiting };
  return html`
    <div class="inwork">
      <${Poster} video=${video} />
      <p role="status"><b>${now}</b>${left && `, ${left}`}${video.work?.waits_for && ` · ${video.work.waits_for}`}</p>
      <${Bar} value=${video.work?.percent ?? 0} label=${words.progress} />
      <p class="dim">${words.soon}</p>
    </div>
  `;
}

function Failure({ video }) {
  return html`
    <${ErrorCard} code=${video.error_code} title=${capital(video.error)} hint=${sentence(video.hint ?? words.failedHint)}>
      ${may("write") && html`<button class="btn primary" onClick=${() => tryAgain(video)}><${Icon} name="retry" />${words.retry}</button>`}
      <a class="btn" href=${url(`/jobs/${video.job_id}`)}>${words.openJob}</a>
      <a class="btn" href=${url(`/api/videos/${video.asset_id}/download`)} download><${Icon} name="download" />${words.download}</a>
    <//>
  `;
}
