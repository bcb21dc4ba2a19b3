// The strip of frames: a part of the film, enlarged, with the two marks of the clip as grips.

import { html, useEffect, useLayoutEffect, useRef, useSignal } from "../lib.js";
import { timecode } from "../format.js";
import { hasStoryboard, storyboard } from "../parts/scrubber.js";
import { Tile } from "../parts/tile.js";
import { PlayHead, Ruler } from "./ruler.js";
import words from "../words/clip.js";

const TILE_PX = 99;

export function ClipLane({ clip, video, player }) {
  const element = useRef(null);
  const { from, to } = clip.window.value;
  const at = (ms) => (100 * (ms - from)) / (to - from);
  const inside = (ms) => Math.min(Math.max(at(ms), 0), 100);
  const msAt = (event) => {
    const { left, width } = element.current.getBoundingClientRect();
    return from + ((event.clientX - left) / width) * (to - from);
  };
  const [a, b] = [inside(clip.start.value), inside(clip.end.value)];
  return html`
    <div class="cliptrack" role="group" aria-label=${words.range} ref=${element} style=${{ "--a": a, "--b": b }}>
      <${Film} video=${video} from=${from} to=${to} onPointerDown=${(event) => player.seek(msAt(event) / 1000)} />
      <span class="cut a"></span><span class="cut b"></span><span class="sel"></span>
      <${Grip} side="start" p=${a} clip=${clip} msAt=${msAt} length=${video.duration_ms} />
      <${Grip} side="end" p=${b} clip=${clip} msAt=${msAt} length=${video.duration_ms} />
      <${PlayHead} player=${player} from=${from} to=${to} />
    </div>
    <${Ruler} from=${from} to=${to} />
  `;
}

function Film({ video, from, to, onPointerDown }) {
  const element = useRef(null);
  const frames = useSignal([]);
  const width = useSignal(0);
  const isMade = hasStoryboard(video);
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(([{ contentRect }]) => (width.value = contentRect.width));
    watcher.observe(element.current);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    if (isMade) storyboard(video.asset_id).then((found) => (frames.value = found));
  }, [video.asset_id, isMade]);
  const count = Math.ceil(width.value / TILE_PX);
  const frameAt = (number) => {
    const seconds = (from + ((number + 0.5) * TILE_PX * (to - from)) / Math.max(width.value, 1)) / 1000;
    return frames.value.findLast((one) => one.start <= seconds) ?? frames.value.at(-1);
  };
  return html`
    <div class="film" aria-hidden="true" ref=${element} onPointerDown=${onPointerDown}>
      ${frames.value.length > 0 && Array.from({ length: count }, (_, number) => html`<${Tile} key=${number} frame=${frameAt(number)} width=${TILE_PX} />`)}
    </div>
  `;
}

/** Drag it, or move it by the keys: one frame, with shift one second. */
function Grip({ side, p, clip, msAt, length }) {
  const drag = (event) => {
    if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
    clip.move(side, msAt(event), { isFramed: false });
    clip.look(side);
  };
  const onKey = (event) => {
    const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    clip.nudge(side, event.shiftKey ? way * Math.round(clip.player.fps.value) : way);
  };
  const { value } = clip[side];
  return html`
    <button
      type="button" class="grip" role="slider" style=${{ "--p": p }} aria-label=${words.grips[side]} aria-valuemin="0" aria-valuemax=${length}
      aria-valuenow=${value} aria-valuetext=${timecode(value)} onKeyDown=${onKey} onPointerMove=${drag}
      onPointerDown=${(event) => event.currentTarget.setPointerCapture(event.pointerId)}
    ></button>
  `;
}
