// The bar below the picture: where the film is, what is loaded, and a frame of where one would go.

import { html, useComputed, useRef, useSignal } from "../lib.js";
import { duration, timecode } from "../format.js";
import { hasStoryboard, storyboard } from "../parts/scrubber.js";
import { Tile } from "../parts/tile.js";
import words from "../words/player.js";

const PREVIEW_PX = 160;

/** `seconds` is the length of the whole film, also while only a part of it is made. */
export function Seek({ player, video, seconds }) {
  const element = useRef(null);
  const preview = useSignal(null);
  const second = useComputed(() => Math.floor(player.time.value));
  const at = (event) => {
    const { left, width } = element.current.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - left) / width, 0), 1) * seconds;
  };
  const move = async (event) => {
    const time = at(event);
    if (event.buttons & 1) player.seek(time);
    const frames = hasStoryboard(video) ? await storyboard(video.asset_id) : [];
    preview.value = { time, frame: frames.findLast((one) => one.start <= time) };
  };
  const down = (event) => {
    element.current.setPointerCapture(event.pointerId);
    player.seek(at(event));
  };
  const onKey = (event) => {
    const to = { Home: 0, End: seconds }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    player.seek(to);
  };
  return html`
    <div
      class="seek" ref=${element} role="slider" tabindex="0" aria-label=${words.position} aria-valuemin="0" aria-valuemax=${Math.round(seconds)}
      aria-valuenow=${second.value} aria-valuetext=${words.at(duration(second.value * 1000), duration(seconds * 1000))}
      onPointerDown=${down} onPointerMove=${move} onPointerLeave=${() => (preview.value = null)} onKeyDown=${onKey}
    >
      <${Part} name="made" value=${player.length} seconds=${seconds} /><${Part} name="buf" value=${player.buffered} seconds=${seconds} />
      <${Part} name="pos" value=${player.time} seconds=${seconds} />
      ${preview.value && html`
        <span class="preview" aria-hidden="true" style=${{ "--p": (100 * preview.value.time) / seconds }}>
          ${preview.value.frame && html`<${Tile} frame=${preview.value.frame} width=${PREVIEW_PX} />`}
          <span class="tc">${timecode(preview.value.time * 1000).slice(0, -2)}</span>
        </span>
      `}
    </div>
  `;
}

const Part = ({ name, value, seconds }) => html`<span class=${name} style=${{ "--p": Math.min((100 * value.value) / seconds, 100) }}></span>`;
