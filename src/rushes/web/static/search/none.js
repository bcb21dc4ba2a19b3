// Nothing found is no end: what may be misread, and what is not read yet. Nothing asked: how to ask.

import { html, useEffect } from "../lib.js";
import { search } from "../api.js";
import { setQuery } from "../router.js";
import { keep, refresh, row } from "../store.js";
import { eta, percent, plural } from "../format.js";
import { url } from "../root.js";
import { Note } from "../parts/problem.js";
import { Status } from "../parts/status.js";
import { Hit } from "./hit.js";
import words from "../words/search.js";

const MOST_UNREAD = 5;

export function None({ answer, question, list }) {
  const { near, unread } = answer;
  useEffect(() => {
    for (const id of new Set(near.map((hit) => hit.asset_id))) refresh("videos", id);
  }, [near]);
  const ways = [
    question.mode !== "substring" && { label: words.trySubstring, change: { mode: "substring" } },
    question.mode !== "fuzzy" && { label: words.tryFuzzy, change: { mode: "fuzzy" } },
    (question.min_confidence || question.source || question.lang || question.video || question.from)
      && { label: words.dropFilters, change: { conf: null, source: null, lang: null, video: null, since: null } },
  ].filter(Boolean);
  return html`
    <${Note} icon="search" title=${words.none}>
      <p>${near.length ? words.nearText(plural(near.length, words.near)) : words.noneText}</p>
      <p class="acts">${ways.map(({ label, change }) => html`<button type="button" class="btn small" onClick=${() => setQuery(change)}>${label}</button>`)}</p>
    <//>
    ${near.length > 0 && html`
      <section class="hitgroup section" aria-labelledby="near">
        <header><h2 id="near">${words.nearTitle}</h2></header>
        <ol>${near.map((hit) => html`<${Hit} key=${hit.span_id} hit=${hit} q=${question.q} list=${list} />`)}</ol>
      </section>
    `}
    ${unread.length > 0 && html`<${Unread} videos=${unread} />`}
  `;
}

/** Videos that may answer later, with how far they are. */
const Unread = ({ videos }) => html`
  <section class="section">
    <${Note} icon="clock" title=${words.unread(plural(videos.length, words.videos))}>
      <ul class="lines">${videos.slice(0, MOST_UNREAD).map((video) => html`<${Waiting} key=${video.asset_id} video=${video} />`)}</ul>
      ${videos.length > MOST_UNREAD && html`<p>${words.others(videos.length - MOST_UNREAD)}</p>`}
    <//>
  </section>
`;

function Waiting({ video }) {
  const id = video.asset_id;
  useEffect(() => {
    keep("videos", video);
    refresh("videos", id);
  }, [id]);
  const work = row("videos", id).value?.work;
  return html`
    <li>
      <a href=${url(`/v/${id}`)} dir="auto">${video.title}</a>
      <span>${work ? html`<${Status} status="running" word=${percent(work.percent)} />` : words.notRead}</span><span class="dim">${work && eta(work.eta_seconds)}</span>
    </li>
  `;
}

/** The language of questions, by examples that can be clicked. */
export const Teach = () => html`
  <div class="teach">
    <p class="lead">${words.teach.lead}</p>
    <dl>
      ${words.teach.examples.map(([q, text]) => html`<dt><a href=${url(`/search${search({ q })}`)}><code>${q}</code></a></dt><dd>${text}</dd>`)}
    </dl>
    <p class="dim">${words.teach.command} <code>${words.teach.cli}</code></p>
  </div>
`;
