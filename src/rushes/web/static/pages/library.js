// The library: every video as a frame; those in work develop while you look.

import { html, useEffect, useMemo, useRef } from "../lib.js";
import { may, search } from "../api.js";
import { setQuery } from "../router.js";
import { Collection, counts, row } from "../store.js";
import { count, day, plural, span } from "../format.js";
import { url } from "../root.js";
import { Card } from "../parts/card.js";
import { Empty } from "../parts/empty.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { ProblemNote } from "../parts/problem.js";
import words from "../words/library.js";

const STATUSES = { all: null, ready: ["ready"], processing: ["pending", "processing"], failed: ["failed"] };
const NEAR_PX = 1200;

export default function Library({ query }) {
  const show = query.show in STATUSES ? query.show : "all";
  const order = query.order === "oldest" ? "oldest" : "newest";
  const videos = useMemo(
    () => new Collection("videos", { status: STATUSES[show], order, tag: query.tag }),
    [show, order, query.tag],
  );
  useEffect(() => videos.open(), [videos]);
  const isEmpty = !videos.ids.value.length && !videos.hasMore.value;
  return html`
    <${Head} />
    ${!(isEmpty && isNew()) && html`<${Toolbar} show=${show} order=${order} tag=${query.tag} isList=${query.view === "list"} />`}
    ${videos.problem.value && html`<${ProblemNote} problem=${videos.problem.value} again=${() => videos.renew()} />`}
    ${isEmpty ? html`<${Nothing} show=${show} tag=${query.tag} />` : html`<${Days} videos=${videos} isList=${query.view === "list"} />`}
    <${End} videos=${videos} />
  `;
}

function Head() {
  const known = counts.videos.value;
  return html`
    <div class="page-head">
      <h1>${words.title}</h1>
      ${known && total(known) > 0 && html`<p class="num">${words.summary(plural(total(known), words.videos), span(known.duration_ms / 1000))}</p>`}
      ${may("upload") && html`
        <div class="end hide-s"><a class=${isNew() ? "btn" : "btn primary"} href=${url("/upload")}><${Icon} name="plus" />${words.add}</a></div>
      `}
    </div>
  `;
}

/** Whether nothing was ever added: then there is nothing to sort, and one thing to do. */
const isNew = () => counts.videos.value && total(counts.videos.value) === 0;

const total = (known) => known.pending + known.processing + known.ready + known.failed;

function Toolbar({ show, order, tag, isList }) {
  const known = counts.videos.value;
  const numbers = known && { all: total(known), ready: known.ready, processing: known.pending + known.processing, failed: known.failed };
  const to = (changes) => url(`/${search({ show: show === "all" ? null : show, order: order === "newest" ? null : order, tag, view: isList ? "list" : null, ...changes })}`);
  return html`
    <div class="toolbar">
      <nav class="chips scroll" aria-label=${words.show}>
        ${Object.keys(STATUSES).map((name) => html`
          <a class="chip-f" href=${to({ show: name === "all" ? null : name })} aria-current=${name === show ? "true" : undefined}>
            ${words.shows[name]} ${numbers && html`<span class="n">${count(numbers[name])}</span>`}
          </a>
        `)}
        ${tag && html`<a class="chip-f" href=${to({ tag: null })} aria-current="true">#${tag}<${Icon} name="close" /><span class="sr">${words.untag}</span></a>`}
      </nav>
      <div class="end">
        <${Menu}
          label=${words.order(words.orders[order])} button=${html`${words.orders[order]} <${Icon} name="chevron" />`}
          items=${Object.entries(words.orders).map(([name, label]) => ({ label, isChecked: name === order, onClick: () => setQuery({ order: name }) }))}
        />
        <div class="btn-group" role="group" aria-label=${words.view}>
          <${View} icon="library" label=${words.frames} isOn=${!isList} onClick=${() => setQuery({ view: null })} />
          <${View} icon="list" label=${words.list} isOn=${isList} onClick=${() => setQuery({ view: "list" })} />
        </div>
      </div>
    </div>
  `;
}

const View = ({ icon, label, isOn, onClick }) => html`
  <button class="btn icon-only" aria-pressed=${isOn} aria-label=${label} onClick=${onClick}><${Icon} name=${icon} /></button>
`;

/** The frames under the day on which they came. */
function Days({ videos, isList }) {
  const days = [];
  for (const id of videos.ids.value) {
    const video = row("videos", id).peek();
    if (!video) continue;
    const found = day(video.created_at);
    if (days.at(-1)?.key !== found.key) days.push({ ...found, ids: [] });
    days.at(-1).ids.push(id);
  }
  const first = videos.ids.value[0];
  return days.map(({ key, name, date, ids }) => html`
    <section key=${key} aria-labelledby=${`day-${key}`}>
      <h2 class="day" id=${`day-${key}`}>${name ?? date} <small>${name && `${date}, `}${plural(ids.length, words.videos)}</small></h2>
      <ul class=${isList ? "frames as-list" : "frames"}>${ids.map((id) => html`<${Card} key=${id} id=${id} isLead=${id === first} />`)}</ul>
    </section>
  `);
}

/** Loads more before the end comes into sight. */
function End({ videos }) {
  const element = useRef(null);
  const isMore = videos.hasMore.value && !videos.isLoading.value && !videos.problem.value;
  useEffect(() => {
    if (!isMore) return undefined;
    const watcher = new IntersectionObserver(([seen]) => seen.isIntersecting && videos.more(), { rootMargin: `${NEAR_PX}px` });
    watcher.observe(element.current);
    return () => watcher.disconnect();
  }, [isMore, videos]);
  return html`<div ref=${element} aria-hidden="true"></div>`;
}

function Nothing({ show, tag }) {
  if (show !== "all" || tag) return html`<p class="dim">${words.none[tag ? "all" : show]}</p>`;
  return html`
    <${Empty} title=${words.empty.title} text=${words.empty.text} commandText=${words.empty.folder} command=${words.empty.command}>
      ${may("upload") && html`<a class="btn primary" href=${url("/upload")}><${Icon} name="upload" />${words.empty.choose}</a>`}
    <//>
  `;
}
