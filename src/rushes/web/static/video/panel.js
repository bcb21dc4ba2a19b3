// On-screen text, in the order of time. It follows the film; a click goes to that moment.

import { html, useComputed, useEffect, useMemo, useRef, useSignal } from "../lib.js";
import { duration, eta } from "../format.js";
import { url } from "../root.js";
import { Icon } from "../parts/icon.js";
import { Marked } from "../parts/marked.js";
import { ProblemNote } from "../parts/problem.js";
import { isCalm } from "../player/player.js";
import words from "../words/video.js";

const READS = ["sample", "ocr", "index"];
const FORMATS = { CSV: "text.csv", SRT: "text.srt", VTT: "text.vtt", JSON: "text" };

export function TextPanel({ texts, video, clip }) {
  const follows = useSignal(true);
  const scroll = useRef(null);
  useFollow(texts, follows, scroll);
  const shown = texts.shown.value;
  const lines = useMemo(() => shown.map((text) => html`<${Line} key=${text.number} text=${text} texts=${texts} clip=${clip} />`), [shown, texts.hits.value]);
  return html`
    <section class="panel texts" aria-labelledby="on-screen">
      <header>
        <h2 id="on-screen">${words.onScreen}</h2>
        <span class="end"><label class="check"><input type="checkbox" checked=${follows.value} onChange=${() => (follows.value = !follows.value)} />${words.follow}</label></span>
        <${Kinds} texts=${texts} />
        <input class="input" type="search" aria-label=${words.filter} placeholder=${words.filter} value=${texts.filter.value} onInput=${(event) => (texts.filter.value = event.target.value)} />
      </header>
      <div class="scroll" tabindex="0" role="region" aria-label=${words.inOrder} ref=${scroll}>
        ${shown.length ? html`<ol class="transcript">${lines}</ol>` : html`<${None} texts=${texts} video=${video} />`}
      </div>
      <footer>
        <label class="range">
          ${words.confidence} <input type="range" min="0" max="1" step="0.05" value=${texts.least.value} onInput=${(event) => (texts.least.value = Number(event.target.value))} />
          <span class="tc">${words.atLeast(share(texts.least.value))}</span>
        </label>
        <span>${words.export} ${Object.entries(FORMATS).map(([name, file], at) => html`${at > 0 && " · "}<a href=${url(`/api/videos/${video.asset_id}/${file}`)} download=${`${video.title} ${words.textFile}.${name.toLowerCase()}`}>${name}</a>`)}</span>
      </footer>
    </section>
  `;
}

/** .93, as it stands in lists. */
export const share = (value) => value.toFixed(2).replace(/^0/, "");

function Kinds({ texts }) {
  const chip = (kind, label, n) => html`
    <button type="button" class="chip-f" aria-pressed=${texts.kind.value === kind} onClick=${() => (texts.kind.value = kind)}>${label} <span class="n">${n}</span></button>
  `;
  return html`
    <div class="chips" role="group" aria-label=${words.kind}>
      ${chip(null, words.all, texts.all.value.length)}${texts.counts().map(([kind, n]) => chip(kind, words.kinds[kind], n))}
    </div>
  `;
}

/** It reads whether it is the current one, so that only two lines are drawn when that changes. */
function Line({ text, texts, clip }) {
  const isCurrent = useComputed(() => texts.current.value === text.number);
  const isPast = useComputed(() => texts.player.time.value * 1000 >= text.end_ms);
  return html`
    <li class=${isPast.value ? "past" : undefined} aria-current=${isCurrent.value ? "true" : undefined} data-number=${text.number}>
      <button type="button" class="seek" onClick=${() => texts.player.seek(text.start_ms / 1000)}>
        <span class="tc">${duration(Math.floor(text.start_ms / 1000) * 1000)}</span>
        <span class="words" dir="auto"><${Marked} text=${text.text} offsets=${texts.offsets(text)} /></span>
        <span class="conf"><span class="sr">${words.confidence} </span>${share(text.confidence)}</span>
      </button>
      ${clip && isCurrent.value && html`
        <button type="button" class="btn mark small icon-only cut" aria-label=${words.clipText} onClick=${() => clip.set(text.start_ms, text.end_ms)}><${Icon} name="scissors" /></button>
      `}
    </li>
  `;
}

function None({ texts, video }) {
  const isRead = Boolean(video.searchable_at);
  if (texts.problem.value) return html`<${ProblemNote} problem=${texts.problem.value} again=${() => texts.read()} />`;
  if (texts.all.value.length) return html`<p class="none">${words.noneOfThese}</p>`;
  if (isRead) return html`<p class="none">${words.noText}</p>`;
  return html`<p class="none">${READS.some((step) => video.work?.steps[step]) ? words.textComes(eta(video.work.eta_seconds)) : words.notRead}</p>`;
}

/** Keep the current line in sight; only the list moves, never the page. */
function useFollow(texts, follows, scroll) {
  const { value } = texts.current;
  useEffect(() => {
    const line = value !== null && follows.value && scroll.current?.querySelector(`[data-number="${value}"]`);
    if (!line) return;
    const { offsetTop, offsetHeight } = line;
    const { clientHeight } = scroll.current;
    scroll.current.scrollTo({ top: offsetTop - (clientHeight - offsetHeight) / 3, behavior: isCalm() ? "instant" : "smooth" });
  }, [value, follows.value]);
}
