// Where in the film there is text and where it answers; below it the strip of frames with the clip.

import { html, useEffect, useRef, useSignal } from "../lib.js";
import { get } from "../api.js";
import { duration } from "../format.js";
import { HeatMap } from "../parts/heatmap.js";
import { ClipLane } from "./lane.js";
import { PlayHead, Ruler } from "./ruler.js";
import words from "../words/video.js";

const BINS = 180;
const MOST_CHAPTERS = 40; // more are too narrow for a word; the search finds them all

export function Timeline({ video, player, clip, question }) {
  const heat = useHeat(video, question);
  const track = useRef(null);
  const seek = (event) => {
    if (event.type === "pointermove" && !(event.buttons & 1)) return;
    const { left, width } = track.current.getBoundingClientRect();
    player.seek(((event.clientX - left) / width) * (video.duration_ms / 1000));
  };
  return html`
    <div class="timeline" dir="ltr">
      <${Chapters} video=${video} player=${player} />
      <div class="track" ref=${track} onPointerDown=${seek} onPointerMove=${seek}>
        <${HeatMap} className="heat" heat=${heat.value} label=${words.heat(duration(video.duration_ms), question && heat.value?.hits?.filter(Boolean).length)} />
        <${Ruler} from=${0} to=${video.duration_ms} />
        ${clip && html`<${Window} clip=${clip} length=${video.duration_ms} />`}
        <${PlayHead} player=${player} from=${0} to=${video.duration_ms} />
      </div>
      ${clip && html`<${ClipLane} clip=${clip} video=${video} player=${player} />`}
    </div>
  `;
}

/** Where each chapter begins, over the line of time; a click leads there. */
function Chapters({ video, player }) {
  const { chapters = [], duration_ms: end } = video;
  if (!chapters.length || chapters.length > MOST_CHAPTERS) return null;
  const lasts = (one, at) => Math.max(0, (chapters[at + 1]?.start_ms ?? end) - one.start_ms);
  return html`
    <ol class="chapters" aria-label=${words.chapters}>
      ${chapters[0].start_ms > 0 && html`<li class="before" aria-hidden="true" style=${{ "--w": chapters[0].start_ms }}></li>`}
      ${chapters.map((one, at) => html`
        <li style=${{ "--w": lasts(one, at) }}><button title=${one.title} onClick=${() => player.seek(one.start_ms / 1000)}>${one.title}</button></li>
      `)}
    </ol>
  `;
}

function useHeat(video, question) {
  const heat = useSignal(null);
  useEffect(() => {
    const abort = new AbortController();
    get(`/videos/${video.asset_id}/heatmap`, { q: question, bins: BINS }, abort.signal).then((found) => (heat.value = found), () => {});
    return () => abort.abort();
  }, [video.asset_id, question, video.searchable_at]);
  return heat;
}

const Window = ({ clip, length }) => html`
  <span class="win" style=${{ "--a": (100 * clip.window.value.from) / length, "--b": (100 * clip.window.value.to) / length }}></span>
`;
