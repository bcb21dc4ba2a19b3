// A video: watch it while it is made, read what was on screen, mark a part of it and take it away.

import { html, useComputed, useEffect, useMemo, useRef, useSignal } from "../lib.js";
import { get } from "../api.js";
import { onRenew } from "../live.js";
import { keep, refresh, row } from "../store.js";
import { parseTime } from "../format.js";
import { url } from "../root.js";
import { markSeen, seen } from "../seen.js";
import { useTitle } from "../shell/page.js";
import { useKeys } from "../shell/shortcuts.js";
import { Empty } from "../parts/empty.js";
import { ProblemNote } from "../parts/problem.js";
import { isCalm, Player } from "../player/player.js";
import { usePlayerKeys } from "../player/keys.js";
import { About } from "../video/about.js";
import { Clip } from "../video/clip.js";
import { Head, Gone } from "../video/head.js";
import { TextPanel } from "../video/panel.js";
import { InWork, Stage } from "../video/stage.js";
import { Texts } from "../video/texts.js";
import clipWords from "../words/clip.js";
import words from "../words/video.js";

const SEEN_S = 5;

export default function Video({ params, query }) {
  const found = useSignal({});
  const asked = useRef(null);
  const read = async () => {
    const { id } = params;
    asked.current = id;
    const answer = await get(`/videos/${id}`).then((video) => ({ id: keep("videos", video).value.asset_id }), (problem) => ({ problem }));
    if (asked.current === id) found.value = answer; // nobody went on to another one meanwhile
  };
  useEffect(() => void read(), [params.id]);
  const { id, problem } = found.value;
  if (problem?.status === 404) return html`<h1 class="sr">${words.video}</h1><${Missing} />`;
  if (problem) return html`<h1 class="sr">${words.video}</h1><${ProblemNote} problem=${problem} again=${read} />`;
  return id && row("videos", id).value ? html`<${Bench} key=${`${id} ${query.q}`} id=${id} query=${query} />` : null;
}

const Missing = () => html`
  <${Empty} title=${words.missing.title} text=${words.missing.text}><a class="btn primary" href=${url("/")}>${words.missing.action}</a><//>
`;

/** Everything about one video. Its player, texts and clip are made once and live as long as it is shown. */
function Bench({ id, query }) {
  const video = row("videos", id).value;
  const at = momentsOf(query);
  const bench = useMemo(() => {
    const before = ((seen(id) ?? 0) * (video.duration_ms ?? 0)) / 100;
    const player = new Player(url(`/api/videos/${id}/master.m3u8`), { start: (at.start ?? before) / 1000 });
    return { player, texts: new Texts(id, player, query.q), clip: new Clip(row("videos", id), player, at) };
  }, [id, query.q]);
  const { player, texts, clip } = bench;
  const boxes = useSignal(true);
  const captions = useSignal(null);
  const frame = useRef(null);
  const tracks = useTracks(video);

  useTitle(video.title);
  useEffect(() => void (video.searchable_at && texts.read()), [texts, video.searchable_at]);
  useEffect(() => void texts.ask(), [texts, video.searchable_at]);
  useEffect(() => onRenew(() => catchUp(id, texts)), [texts]);
  useEffect(() => clip.open(), [clip]);
  useMarkSeen(player, video);
  useEffect(() => {
    if (at.start === null) return;
    player.seek(at.start / 1000);
    if (navigator.userActivation?.hasBeenActive && !isCalm()) player.play();
  }, [player, query.t]);
  useKeysOf(bench, { video, frame, captions, tracks, boxes });

  if (video.deleted_at) return html`<${Head} video=${video} player=${player} texts=${texts} /><${Gone} video=${video} />`;
  return html`
    <${Head} video=${video} player=${player} texts=${texts} />
    <div class="watch">
      <div class="stage">
        ${video.playable_at
          ? html`<${Stage} ...${{ video, frame, captions, tracks: tracks.value, boxes, bench, question: query.q }} />`
          : html`<${InWork} video=${video} />`}
      </div>
      <${TextPanel} texts=${texts} video=${video} clip=${video.playable_at ? clip : null} />
    </div>
    <${About} video=${video} tab=${query.tab} />
  `;
}

/** Something may have been missed: the row is read again, and the texts if that failed. */
function catchUp(id, texts) {
  refresh("videos", id);
  if (texts.problem.peek()) texts.read();
}

/** ?t=62.5&end=75, in milliseconds. */
const momentsOf = ({ t, end }) => ({ start: t ? parseTime(t) : null, end: end ? parseTime(end) : null });

function useKeysOf({ player, clip }, { video, frame, captions, tracks, boxes }) {
  usePlayerKeys({ player, seconds: () => row("videos", video.asset_id).peek().duration_ms / 1000, frame, captions, tracks: () => tracks.value, boxes });
  const { start, end, loop } = clipWords.keys;
  const toggle = () => {
    clip.isLooping.value = !clip.isLooping.value;
    if (clip.isLooping.value) player.play();
  };
  useKeys({ i: [() => clip.mark("start"), start[1]], o: [() => clip.mark("end"), end[1]], L: [toggle, loop[1], loop[0]] });
}

/** Keep how far it was watched: the library shows it, and next time it begins there. */
function useMarkSeen(player, { asset_id, duration_ms }) {
  const step = useComputed(() => (player.isPaused.value ? null : Math.floor(player.time.value / SEEN_S)));
  useEffect(() => {
    if (step.value !== null && duration_ms) markSeen(asset_id, (100_000 * player.time.peek()) / duration_ms);
  }, [step.value]);
}

/** What can be shown as captions: the text on screen, and subtitles. */
function useTracks(video) {
  const tracks = useSignal([]);
  useEffect(() => {
    const base = `/api/videos/${video.asset_id}`;
    const screen = video.searchable_at && video.texts ? [{ name: "screen", label: words.screenTrack, language: "und", src: url(`${base}/text.vtt`) }] : [];
    get(`/videos/${video.asset_id}/subtitles`).then(
      ({ items }) => {
        const given = items.map(({ language }) => ({ name: `sub-${language}`, label: nameOf(language), language, src: url(`${base}/subtitles/${language}`) }));
        tracks.value = [...screen, ...new Map(given.map((one) => [one.name, one])).values()];
      },
      () => (tracks.value = screen),
    );
  }, [video.asset_id, video.searchable_at, video.texts]);
  return tracks;
}

function nameOf(language) {
  try {
    return new Intl.DisplayNames(document.documentElement.lang, { type: "language" }).of(language);
  } catch {
    return language;
  }
}
