// One moment: its frame with the text in its box, and what can be done with it. It plays in place.

import { html, useEffect, useRef, useSignal } from "../lib.js";
import { may } from "../api.js";
import { row } from "../store.js";
import { duration } from "../format.js";
import { root, url } from "../root.js";
import { hasPoster } from "../parts/card.js";
import { MadeClip } from "../parts/clipcard.js";
import { copy } from "../parts/copy.js";
import { Icon } from "../parts/icon.js";
import { Marked } from "../parts/marked.js";
import { Boxes } from "../player/boxes.js";
import { Loop } from "../player/loop.js";
import { isCalm } from "../player/player.js";
import { share } from "../video/panel.js";
import { addressOf } from "./question.js";
import words from "../words/search.js";

const REST_MS = 350; // a pointer on its way somewhere else starts nothing
const LONGEST_S = 8;
const SHORTEST_S = 1.5;
const ABOUT = ["title", "tag", "file"]; // of the whole video

const clock = (ms) => duration(Math.floor(ms / 1000) * 1000);

/** `list` knows which hit is current, which are selected, and which became clips. */
export function Hit({ hit, q, list }) {
  const isCurrent = list.current.value === hit.span_id;
  const isHovered = useSignal(false);
  const address = addressOf(hit, q);
  const clip = list.clips.value.get(hit.span_id);
  const at = clock(hit.start_ms);
  return html`
    <li
      class="hit" aria-current=${isCurrent ? "true" : undefined} data-span=${hit.span_id} onFocusIn=${() => (list.current.value = hit.span_id)}
      onPointerEnter=${() => (isHovered.value = true)} onPointerLeave=${() => (isHovered.value = false)}
    >
      ${may("write") && html`<label class="check"><input type="checkbox" aria-label=${words.select(at)} checked=${list.selected.value.has(hit.span_id)} onChange=${() => list.toggle(hit.span_id)} /></label>`}
      <${Frame} hit=${hit} wantsPlay=${isCurrent || isHovered.value} />
      <div class="text">
        <p class="when">
          ${hit.source !== "screen" && html`<span class="tag">${words.sources[hit.source]}</span>`}
          ${!ABOUT.includes(hit.source) && html`<span class="tc">${at} – ${clock(hit.end_ms)}</span>`}<span class="num">${words.sure(share(hit.confidence))}</span>${hit.language !== "und" && html`<span>${hit.language}</span>`}
        </p>
        <p class="said" dir="auto"><${Marked} text=${hit.text} offsets=${hit.offsets} /></p>
      </div>
      <p class="acts">
        <a class=${isCurrent ? "btn primary small play" : "btn quiet small play"} href=${url(address)}><${Icon} name="play" />${isCurrent ? words.playHere : words.play}</a>
        ${may("write") && html`<button type="button" class=${isCurrent ? "btn mark small" : "btn quiet small"} onClick=${() => list.cut(hit)}><${Icon} name="scissors" />${words.clip}</button>`}
        <button type="button" class=${isCurrent ? "btn small icon-only" : "btn quiet small icon-only"} aria-label=${words.copyLink(at)} onClick=${() => copy(location.origin + root + address)}><${Icon} name="link" /></button>
      </p>
      ${clip && html`<div class="hitclip"><${MadeClip} id=${clip} key=${clip} /></div>`}
    </li>
  `;
}

/** The frame on which it was read; who rests on it sees it move, without sound. */
function Frame({ hit, wantsPlay }) {
  const video = row("videos", hit.asset_id).value;
  const plays = useSignal(false);
  const isBroken = useSignal(false);
  const timer = useRef(null);
  useEffect(() => {
    if (!wantsPlay || isCalm() || !video?.playable_at) {
      plays.value = false;
      return undefined;
    }
    timer.current = setTimeout(() => (plays.value = true), REST_MS);
    return () => clearTimeout(timer.current);
  }, [wantsPlay, video?.playable_at]);
  const boxes = hit.box && video?.width && html`<${Boxes} video=${video} boxes=${[{ ...hit.box, isMarked: true }]} />`;
  if (plays.value) {
    const length = Math.min(Math.max((hit.end_ms - hit.start_ms) / 1000, SHORTEST_S), LONGEST_S);
    return html`<${Loop} source=${url(`/api/videos/${hit.asset_id}/master.m3u8`)} start=${hit.start_ms / 1000} length=${length} label=${hit.text}>${boxes}<//>`;
  }
  const poster = hasPoster(video) ? url(`/api/videos/${hit.asset_id}/poster.jpg`) : null;
  const picture = hit.frame_url && !isBroken.value ? hit.frame_url : poster;
  if (!picture) return html`<div class="poster poster-none"><${Icon} name="frame" /></div>`;
  return html`
    <div class="poster"><img src=${picture} alt="" width="640" height="360" loading="lazy" onError=${() => (isBroken.value = true)} />${boxes}</div>
  `;
}
