// Find the moment: hits of every video, as you type, with the frame on which each was read.

import { html, useEffect, useMemo, useSignal } from "../lib.js";
import { get, search } from "../api.js";
import { go } from "../router.js";
import { refresh, row } from "../store.js";
import { clock, day, duration, plural } from "../format.js";
import { url } from "../root.js";
import { useTitle } from "../shell/page.js";
import { useKeys } from "../shell/shortcuts.js";
import { CopyCommands, curl } from "../parts/copy.js";
import { HeatMap } from "../parts/heatmap.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { ProblemNote } from "../parts/problem.js";
import { Bulk } from "../search/bulk.js";
import { wantsHits } from "../search/box.js";
import { Filters } from "../search/filters.js";
import { Found } from "../search/found.js";
import { Hit } from "../search/hit.js";
import { HitList } from "../search/list.js";
import { None, Teach } from "../search/none.js";
import { addressOf, commandOf, questionOf } from "../search/question.js";
import words from "../words/search.js";

const BINS = 80;

export default function Search({ query }) {
  const question = questionOf(query);
  const found = useMemo(() => new Found(), []);
  const list = useMemo(() => new HitList(found.shown), []);
  useEffect(() => void found.ask(question), [JSON.stringify(question)]);
  useEffect(() => () => found.stop(), []);
  useTitle(question.q || words.title);
  useListKeys(list, found);
  useFirstHit(list, found);
  if (!question.q) return html`<${Head} question=${question} /><${Teach} />`;
  const { value: answer } = found.answer;
  return html`
    <${Head} question=${question} answer=${answer} />
    <${Filters} question=${question} query=${query} hits=${found.hits.value} />
    ${found.problem.value && html`<${ProblemNote} problem=${found.problem.value} again=${() => found.ask(question)} />`}
    ${groupsOf(found.hits.value).map(({ id, hits }) => html`<${Group} key=${id} id=${id} hits=${hits} q=${question.q} list=${list} moments=${momentsOf(answer, id)} />`)}
    ${answer?.moments === 0 && html`<${None} answer=${answer} question=${question} list=${list} />`}
    ${answer?.next_cursor && html`<p class="section"><button class="btn" aria-disabled=${found.isBusy.value} onClick=${() => found.more()}>${words.more}</button></p>`}
    ${answer && html`<div class="section"><${CopyCommands} commands=${{ CLI: commandOf(question, query.since), curl: curl("GET", `/search${search(question)}`) }} /></div>`}
    <${Bulk} list=${list} />
  `;
}

function Head({ question, answer }) {
  return html`
    <div class="page-head">
      <h1 dir="auto">${question.q ? question.q.split(/(\s+)/).map((word) => (/^[@#]|:/.test(word) ? html`<span class="dim">${word}</span>` : word)) : words.title}</h1>
      <p class="num" role="status">${answer && words.summary(plural(answer.moments, words.moments), plural(answer.video_count, words.videos), answer.ms, answer.cut)}</p>
      ${answer?.moments > 0 && html`
        <div class="end">
          <${Menu}
            className="btn" button=${html`<${Icon} name="download" />${words.export}`}
            items=${["csv", "json"].map((format) => ({ label: words.formats[format], href: url(`/api/search/export${search({ ...question, format })}`) }))}
          />
        </div>
      `}
    </div>
  `;
}

/** The moments of one video, and where in it they are. */
function Group({ id, hits, q, list, moments }) {
  const video = row("videos", id).value;
  const heat = useSignal(null);
  useEffect(() => void refresh("videos", id), [id]);
  useEffect(() => {
    const abort = new AbortController();
    get(`/videos/${id}/heatmap`, { q, bins: BINS }, abort.signal).then((found) => (heat.value = found), () => {});
    return () => abort.abort();
  }, [id, q]);
  const facts = video && [`${day(video.created_at).name ?? day(video.created_at).date} ${clock(video.created_at)}`, video.duration_ms && duration(video.duration_ms), plural(moments, words.moments)];
  return html`
    <section class="hitgroup" aria-labelledby=${`video-${id}`}>
      <header>
        <div><h2 id=${`video-${id}`}><a href=${url(`/v/${id}${search({ q })}`)} dir="auto">${hits[0].title}</a></h2><p class="num">${facts?.filter(Boolean).join(" · ")}</p></div>
        <${HeatMap} className="mini" heat=${heat.value} label=${words.where(plural(moments, words.moments))} />
      </header>
      <ol>${hits.map((hit) => html`<${Hit} key=${hit.span_id} hit=${hit} q=${q} list=${list} />`)}</ol>
    </section>
  `;
}

const momentsOf = (answer, id) => answer?.videos.find((one) => one.asset_id === id)?.moments ?? 0;

/** Hits of a video stand together, also when they come in two pages. */
function groupsOf(hits) {
  const groups = new Map();
  for (const hit of hits) groups.set(hit.asset_id, [...(groups.get(hit.asset_id) ?? []), hit]);
  return [...groups].map(([id, some]) => ({ id, hits: some }));
}

function useListKeys(list, found) {
  const q = () => found.question?.q;
  useKeys({
    ArrowDown: [() => list.move(1), words.keyNames.next, "↓"], ArrowUp: [() => list.move(-1), words.keyNames.before, "↑"],
    Enter: [() => list.now && go(addressOf(list.now, q())), words.keyNames.play, "Enter"],
    c: [() => list.now && list.cut(list.now), words.keyNames.clip],
    v: [() => list.now && go(`/v/${list.now.asset_id}${search({ q: q() })}`), words.keyNames.open],
  });
}

/** The first moment is current as soon as there is one; whoever pressed Enter is there with the keyboard, too. */
function useFirstHit(list, found) {
  const first = found.shown.value[0];
  useEffect(() => {
    if (first && !found.shown.value.some((hit) => hit.span_id === list.current.value)) list.current.value = first.span_id;
    if (!wantsHits.value || found.isBusy.value || !found.answer.value) return;
    wantsHits.value = false;
    list.focus(first);
  }, [first?.span_id, found.answer.value, wantsHits.value, found.isBusy.value]);
}
