// The player: a picture, and its controls under it, never on it. Full screen lays them over.

import { html, useEffect, useRef, useSignal } from "../lib.js";
import { url } from "../root.js";
import { hasPoster } from "../parts/card.js";
import { Icon } from "../parts/icon.js";
import { Controls } from "./controls.js";
import { Seek } from "./seek.js";
import words from "../words/player.js";

const IDLE_MS = 2000;

/** `tracks` are captions: [{name, label, language, src}]; `children` lie over the picture. */
export function PlayerView({ player, video, frame, captions, tracks = [], boxes, children }) {
  const element = useRef(null);
  const seconds = video.duration_ms / 1000;
  useEffect(() => player.attach(element.current), [player]);
  useEffect(() => {
    for (const track of element.current.textTracks) track.mode = track.id === captions.value ? "showing" : "disabled";
  }, [captions.value, tracks]);
  const isIdle = useIdle(frame);
  return html`
    <div class=${isIdle.value ? "player is-idle" : "player"} role="region" aria-label=${words.player} ref=${frame}>
      <div class="picture">
        <video
          ref=${element} playsinline preload="auto" poster=${hasPoster(video) ? url(`/api/videos/${video.asset_id}/poster.jpg`) : undefined}
          aria-label=${words.film(video.title)} onClick=${() => player.toggle()}
        >
          ${tracks.map(({ name, label, language, src }) => html`<track kind="subtitles" id=${name} key=${name} label=${label} srclang=${language} src=${src} />`)}
        </video>
        ${children}
        <${State} player=${player} video=${video} />
      </div>
      <div class="under">
        <${Seek} player=${player} video=${video} seconds=${seconds} />
        <${Controls}
          player=${player} seconds=${seconds} captions=${captions} tracks=${tracks} boxes=${boxes}
          onFullscreen=${() => toggleFullscreen(frame.current)}
        />
      </div>
    </div>
  `;
}

export const toggleFullscreen = (element) => (document.fullscreenElement ? document.exitFullscreen() : element?.requestFullscreen())?.catch(() => {});

/** Says that it loads, or why it does not play and what else one can do. */
function State({ player, video }) {
  const problem = player.problem.value;
  if (!problem) return player.isWaiting.value && html`<span class="loads"><${Icon} name="running" />${words.waiting}</span>`;
  return html`
    <div class="unplayable" role="alert">
      <h2>${problem.message}</h2><p>${words.unplayableHint}</p><p><code>${problem.code}</code> ${problem.hint}</p>
      <p class="acts">
        <button class="btn" onClick=${() => location.reload()}><${Icon} name="retry" />${words.again}</button>
        <a class="btn" href=${url(`/api/videos/${video.asset_id}/download`)} download><${Icon} name="download" />${words.download}</a>
      </p>
    </div>
  `;
}

/** Whether the pointer has rested for a while. */
function useIdle(frame) {
  const isIdle = useSignal(false);
  useEffect(() => {
    let timer;
    const moved = () => {
      clearTimeout(timer);
      isIdle.value = false;
      timer = setTimeout(() => (isIdle.value = Boolean(document.fullscreenElement)), IDLE_MS);
    };
    const element = frame.current;
    const types = ["pointermove", "keydown", "focusin"];
    for (const type of types) element.addEventListener(type, moved);
    return () => {
      clearTimeout(timer);
      for (const type of types) element.removeEventListener(type, moved);
    };
  }, []);
  return isIdle;
}
