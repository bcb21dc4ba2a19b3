// The controls below the picture. What a small screen has no room for is also a key or in a menu.

import { html, useComputed } from "../lib.js";
import { duration } from "../format.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { AUTO, SPEEDS } from "./player.js";
import words from "../words/player.js";

/** `captions` and `boxes` are signals: what is shown, and whether it is. `tracks`: [{name, label}]. */
export const Controls = ({ player, seconds, captions, tracks, boxes, onFullscreen }) => html`
  <div class="ctl">
    <${PlayButton} player=${player} /><${Volume} player=${player} /><${Now} player=${player} seconds=${seconds} />
    <span class="sp"></span>
    ${boxes && html`<button type="button" aria-label=${words.boxes} aria-pressed=${boxes.value} onClick=${() => (boxes.value = !boxes.value)}><${Icon} name="frame" /></button>`}
    <${Speed} player=${player} />
    ${tracks?.length > 0 && html`<${Captions} captions=${captions} tracks=${tracks} />`}
    <${Quality} player=${player} />
    ${document.pictureInPictureEnabled && html`<button type="button" class="opt" aria-label=${words.pip} onClick=${() => togglePip(player)}><${Icon} name="pip" /></button>`}
    <button type="button" aria-label=${words.fullscreen} onClick=${onFullscreen}><${Icon} name="fullscreen" /></button>
  </div>
`;

const PlayButton = ({ player }) => html`
  <button type="button" aria-label=${player.isPaused.value ? words.play : words.pause} onClick=${() => player.toggle()}>
    <${Icon} name=${player.isPaused.value ? "play" : "pause"} />
  </button>
`;

const Volume = ({ player }) => html`
  <span class="vol opt">
    <button type="button" aria-label=${player.isMuted.value ? words.unmute : words.mute} aria-pressed=${player.isMuted.value} onClick=${() => player.toggleMuted()}>
      <${Icon} name=${player.isMuted.value ? "muted" : "volume"} />
    </button>
    <input
      type="range" min="0" max="1" step="0.05" aria-label=${words.volume} value=${player.isMuted.value ? 0 : player.volume.value}
      onInput=${(event) => player.setVolume(Number(event.target.value))}
    />
  </span>
`;

function Now({ player, seconds }) {
  const now = useComputed(() => duration(Math.floor(player.time.value) * 1000));
  return html`<span class="tc">${now} <span>/ ${duration(seconds * 1000)}</span></span>`;
}

const Speed = ({ player }) => html`
  <span class="opt">
    <${Menu}
      className="" label=${words.speed(words.times(player.speed.value))} button=${words.times(player.speed.value)}
      items=${SPEEDS.map((speed) => ({ label: words.times(speed), isChecked: speed === player.speed.value, onClick: () => player.setSpeed(speed) }))}
    />
  </span>
`;

function Captions({ captions, tracks }) {
  const items = [{ name: null, label: words.noCaptions }, ...tracks];
  const shown = items.find((one) => one.name === captions.value) ?? items[0];
  return html`
    <${Menu}
      className=${shown.name ? "is-on" : ""} label=${words.captions(shown.label)} button=${words.captionsShort}
      items=${items.map(({ name, label }) => ({ label, isChecked: name === shown.name, onClick: () => (captions.value = name) }))}
    />
  `;
}

/** Says what is shown now, also when the player chooses by itself. */
function Quality({ player }) {
  const levels = player.levels.value;
  const shown = levels.find((one) => one.number === player.level.value);
  if (!levels.length) return null;
  const name = shown ? words.height(shown.height) : words.auto;
  return html`
    <${Menu}
      className="" label=${words.quality(name)} button=${name}
      items=${[
        { label: shown ? words.autoNow(shown.height) : words.auto, isChecked: player.wanted.value === AUTO, onClick: () => player.choose(AUTO) },
        ...levels.map(({ number, height }) => ({ label: words.height(height), isChecked: player.wanted.value === number, onClick: () => player.choose(number) })),
      ]}
    />
  `;
}

const togglePip = (player) => (document.pictureInPictureElement ? document.exitPictureInPicture() : player.element.requestPictureInPicture()).catch(() => {});
