// What narrows a search. All of it is in the address.

import { html } from "../lib.js";
import { setQuery } from "../router.js";
import { row } from "../store.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { share } from "../video/panel.js";
import { HAS, MODES, SOURCES, SPANS, toggled } from "./question.js";
import words from "../words/search.js";

const LANGUAGES = ["en", "de", "fr", "es", "it", "nl", "pt"];
const names = new Intl.DisplayNames(document.documentElement.lang, { type: "language" });

export const Filters = ({ question, query, hits }) => html`
  <div class="facets">
    <div class="row chips scroll" role="group" aria-label=${words.has}>
      ${Object.entries(HAS).map(([kind, word]) => html`
        <button
          type="button" class="chip-f" aria-pressed=${question.q.split(/\s+/).includes(word)} title=${words.hasLong[kind]}
          onClick=${() => setQuery({ q: toggled(question.q, word) || null })}
        >${words.kinds[kind]}</button>
      `)}
      <${Choice} name="since" value=${query.since in SPANS ? query.since : null} any=${words.anyTime} choices=${words.spans} />
      <${Choice} name="source" value=${question.source} any=${words.anySource} choices=${Object.fromEntries(SOURCES.map((one) => [one, words.sources[one]]))} />
      <${Choice} name="lang" value=${question.lang} any=${words.anyLanguage} choices=${languagesOf(hits, question.lang)} />
      ${question.video && html`<${OfVideo} id=${question.video} />`}
    </div>
    <div class="row">
      <div class="btn-group" role="group" aria-label=${words.match}>
        ${MODES.map((mode) => html`
          <button type="button" class="btn small" aria-pressed=${mode === (question.mode ?? "words")} onClick=${() => setQuery({ mode: mode === "words" ? null : mode })}>${words.modes[mode]}</button>
        `)}
      </div>
      <label class="range">
        ${words.confidence}
        <input type="range" min="0" max="1" step="0.05" value=${question.min_confidence ?? 0} onInput=${(event) => setQuery({ conf: Number(event.target.value) || null })} />
        <span class="tc">${words.atLeast(share(question.min_confidence ?? 0))}</span>
      </label>
      <p class="keys">${words.keys.map(([keys, text]) => html`<span>${keys.map((key) => html`<kbd>${key}</kbd>`)} ${text}</span>`)}</p>
    </div>
  </div>
`;

const Choice = ({ name, value, any, choices }) => html`
  <${Menu}
    className=${value ? "chip-f is-on" : "chip-f"} button=${html`${value ? choices[value] : any} <${Icon} name="chevron" />`}
    items=${[
      { label: any, isChecked: !value, onClick: () => setQuery({ [name]: null }) },
      ...Object.entries(choices).map(([one, label]) => ({ label, isChecked: one === value, onClick: () => setQuery({ [name]: one }) })),
    ]}
  />
`;

const OfVideo = ({ id }) => html`
  <button type="button" class="chip-f" aria-pressed="true" onClick=${() => setQuery({ video: null })}>
    ${row("videos", id).value?.title ?? words.oneVideo}<${Icon} name="close" /><span class="sr">${words.allVideos}</span>
  </button>
`;

/** Those that were found, and some that are common. */
function languagesOf(hits, chosen) {
  const found = hits.map((hit) => hit.language).filter((language) => language !== "und");
  return Object.fromEntries([...new Set([chosen, ...found, ...LANGUAGES])].filter(Boolean).map((code) => [code, nameOf(code)]));
}

function nameOf(code) {
  try {
    return names.of(code);
  } catch {
    return code;
  }
}
