// All jobs: five counts as filters, live rows, and what may be done to one or to many.

import { html, useEffect, useMemo, useRef, useSignal } from "../lib.js";
import { may, search } from "../api.js";
import { go, setQuery } from "../router.js";
import { Collection, counts, row } from "../store.js";
import { count } from "../format.js";
import { url } from "../root.js";
import { Empty } from "../parts/empty.js";
import { Icon } from "../parts/icon.js";
import { List } from "../parts/list.js";
import { Menu } from "../parts/menu.js";
import { ProblemNote } from "../parts/problem.js";
import { Status } from "../parts/status.js";
import { useKeys } from "../shell/shortcuts.js";
import { PRIORITIES, prioritise, retry } from "../work/actions.js";
import { CommandsDialog, KillDialog } from "../work/dialogs.js";
import { isNarrow } from "../work/narrow.js";
import { Row, canRetry, isOpen } from "../work/row.js";
import words from "../words/jobs.js";
import doing from "../words/actions.js";

const STATUSES = ["queued", "running", "completed", "failed", "killed"];
const TOKENS = ["kind", "error_code", "step"];
const KINDS = ["video", "clip"];
const [ROW_PX, CARD_PX, TYPING_MS, TOP_PX, PAGE] = [37, 104, 300, 120, 200];

export default function Jobs({ query }) {
  const status = STATUSES.includes(query.status) ? query.status : null;
  const { kind, q, error_code, step } = query;
  const jobs = useMemo(
    () => new Collection("jobs", { status, kind, q, error_code, step, limit: PAGE }, "/jobs", (job) => !status || job.status === status),
    [status, kind, q, error_code, step],
  );
  useEffect(() => jobs.open(), [jobs]);
  const isFiltered = Boolean(status || kind || q || error_code || step);
  const isEmpty = !jobs.ids.value.length && !jobs.hasMore.value;
  return html`
    <${Head} />
    <${Toolbar} query=${query} status=${status} />
    ${jobs.problem.value && html`<${ProblemNote} problem=${jobs.problem.value} again=${() => jobs.reread()} />`}
    ${isEmpty ? html`<${Nothing} isFiltered=${isFiltered} />` : html`<${Table} jobs=${jobs} />`}
  `;
}

function Head() {
  const known = counts.jobs.value;
  return html`
    <div class="page-head">
      <h1>${words.title}</h1>
      ${known && html`<p class="num">${words.active(count(known.queued + known.running))}</p>`}
    </div>
  `;
}

function Toolbar({ query, status }) {
  const to = (changes) => url(`/jobs${search({ ...query, ...changes })}`);
  const tokens = TOKENS.filter((name) => query[name]);
  return html`
    <div class="toolbar">
      <nav class="counts" aria-label=${words.counts}>
        ${STATUSES.map((name) => html`
          <a href=${to({ status: name === status ? null : name })} aria-current=${name === status ? "true" : undefined}>
            <b>${counts.jobs.value ? count(counts.jobs.value[name]) : "–"}</b><${Status} status=${name} />
          </a>
        `)}
      </nav>
      <div class="end filters" role="group" aria-label=${words.filters}>
        ${tokens.map((name) => html`
          <span class="chip-f token" key=${name}>${words.token[name](query[name])}
            <button aria-label=${words.remove(words.token[name](query[name]))} onClick=${() => setQuery({ [name]: null })}><${Icon} name="close" /></button>
          </span>
        `)}
        <${Menu}
          label=${words.kinds} className="btn" button=${html`<${Icon} name="filter" />${words.kinds}`}
          items=${[null, ...KINDS].map((name) => ({ label: name ?? words.anyKind, isChecked: (query.kind ?? null) === name, onClick: () => setQuery({ kind: name }) }))}
        />
        <${Find} text=${query.q} />
      </div>
    </div>
  `;
}

function Find({ text }) {
  const timer = useRef(null);
  const onInput = ({ target }) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setQuery({ q: target.value.trim() || null }), TYPING_MS);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return html`<input class="input find" id="find" type="search" aria-label=${words.find} placeholder=${words.find} defaultValue=${text} onInput=${onInput} />`;
}

/** Rows that came while somebody looks further down wait above: nothing moves under the pointer. */
function useHeldBack(ids) {
  const first = useRef(null);
  const isTop = useSignal(scrollY < TOP_PX);
  useEffect(() => {
    const look = () => (isTop.value = scrollY < TOP_PX);
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, []);
  const at = isTop.value ? 0 : Math.max(0, ids.indexOf(first.current));
  first.current = ids[at];
  return [at ? ids.slice(at) : ids, at];
}

function Table({ jobs }) {
  const [ids, fresh] = useHeldBack(jobs.ids.value);
  const chosen = useSignal(new Set());
  const current = useSignal(null);
  const dialog = useSignal(null);
  const rowHeight = isNarrow.value ? CARD_PX : ROW_PX;
  const list = useRef(null);
  list.current = ids;
  useListKeys(list, current, chosen, rowHeight);
  const choose = (id) => (chosen.value = toggled(chosen.value, id));
  const onKill = (killed) => (dialog.value = { ids: killed });
  const onCommands = (shown) => (dialog.value = { shown });
  const close = () => (dialog.value = null);
  const render = (id) => html`
    <${Row}
      key=${id} id=${id} isChosen=${chosen.value.has(id)} isCurrent=${current.value === id}
      onChoose=${choose} onKill=${onKill} onCommands=${onCommands}
    />
  `;
  return html`
    <div class=${isNarrow.value ? "joblist is-narrow" : "joblist"} role="table" aria-label=${words.title} aria-rowcount=${ids.length + 1} style=${{ "--row-px": `${rowHeight}px` }}>
      <${Columns} chosen=${chosen} ids=${ids} />
      ${fresh > 0 && html`<button class="btn small fresh" onClick=${() => scrollTo(0, 0)}><${Icon} name="up" />${words.fresh(count(fresh))}</button>`}
      <${List} as="div" role="rowgroup" items=${ids} render=${render} rowHeight=${rowHeight} onEnd=${() => jobs.more()} />
      <p class="tablefoot">${words.loaded(count(ids.length), !jobs.hasMore.value)}</p>
    </div>
    ${chosen.value.size > 0 && html`<${Bulk} chosen=${chosen} onKill=${onKill} onCommands=${onCommands} />`}
    ${dialog.value?.ids && html`<${KillDialog} ids=${dialog.value.ids} onClose=${close} onDone=${() => (chosen.value = new Set())} />`}
    ${dialog.value?.shown && html`<${CommandsDialog} jobs=${dialog.value.shown.map((id) => row("jobs", id).value).filter(Boolean)} onClose=${close} />`}
  `;
}

const toggled = (known, id) => {
  const next = new Set(known);
  if (!next.delete(id)) next.add(id);
  return next;
};

const Columns = ({ chosen, ids }) => html`
  <div role="rowgroup" class="head">
    <div class="row" role="row">
      <span role="columnheader" class="sel">
        ${may("write") && html`<input type="checkbox" aria-label=${words.selectAll} checked=${chosen.value.size > 0 && chosen.value.size === ids.length} onChange=${({ target }) => (chosen.value = new Set(target.checked ? ids : []))} />`}
      </span>
      ${["what", "state", "who", "age", "left", "id"].map((name) => html`<span role="columnheader" class=${name}>${words.columns[name]}</span>`)}
      <span role="columnheader" class="act"><span class="sr">${words.columns.actions}</span></span>
    </div>
  </div>
`;

function Bulk({ chosen, onKill, onCommands }) {
  const ids = [...chosen.value];
  const those = (test) => ids.filter((id) => row("jobs", id).peek() && test(row("jobs", id).peek()));
  const [open, ended] = [those(isOpen), those(canRetry)];
  const done = (work) => work.then(() => (chosen.value = new Set()));
  return html`
    <div class="bulk" role="toolbar" aria-label=${words.selected}>
      <span aria-live="polite"><b>${count(ids.length)}</b> ${words.selected}</span>
      <button class="btn" disabled=${!ended.length} onClick=${() => done(retry(ended))}><${Icon} name="retry" />${doing.retry}</button>
      <${Menu}
        label=${doing.priority} className="btn" button=${html`${doing.priority}<${Icon} name="chevron" />`}
        items=${Object.keys(PRIORITIES).map((name) => ({ label: doing.priorities[name], onClick: () => done(prioritise(open, name)) }))}
      />
      <button class="btn danger" disabled=${!open.length} onClick=${() => onKill(open)}><${Icon} name="stop" />${doing.kill}</button>
      <button class="btn quiet" onClick=${() => onCommands(ids)}><${Icon} name="docs" />${doing.commands}</button>
      <button class="btn quiet icon-only" aria-label=${words.clear} onClick=${() => (chosen.value = new Set())}><${Icon} name="close" /></button>
    </div>
  `;
}

/** J and K, or the arrows inside the list, move; Enter opens; X selects. */
function useListKeys(list, current, chosen, rowHeight) {
  const height = useRef(rowHeight);
  height.current = rowHeight;
  const move = (by) => {
    const ids = list.current;
    const at = Math.min(Math.max(ids.indexOf(current.value) + by, 0), ids.length - 1);
    current.value = ids[at];
    const rows = document.querySelector(".joblist .windowed");
    const top = rows.getBoundingClientRect().top + at * height.current;
    if (top < 120 || top > innerHeight - 160) scrollBy(0, top - innerHeight / 2);
    focusRow(rows, ids[at]);
  };
  const arrows = (by) => (event) => {
    if (event.target.closest?.(".joblist [role=row]") || event.target === document.body || event.target.id === "main") move(by);
    else scrollBy(0, by * height.current);
  };
  const chosenOne = () => (list.current.includes(current.value) ? current.value : null); // a filter may have taken it away
  const open = () => chosenOne() && go(`/jobs/${chosenOne()}`);
  useKeys({
    j: [() => move(1), words.keys.next],
    k: [() => move(-1), words.keys.previous],
    ArrowDown: [arrows(1), words.keys.next],
    ArrowUp: [arrows(-1), words.keys.previous],
    o: [open, words.keys.open],
    Enter: [open], // the row's link opens itself; but a row that moved has lost the focus
    x: [() => chosenOne() && may("write") && (chosen.value = toggled(chosen.value, chosenOne())), words.keys.select],
  });
}

/** At once where the row stands already, so that a quick Enter meets it; else when it is drawn. */
function focusRow(rows, id) {
  const link = () => rows.querySelector(`[data-id="${id}"] .what a`);
  const focus = () => link()?.focus({ preventScroll: true });
  if (link()) focus();
  else requestAnimationFrame(() => requestAnimationFrame(focus));
}

const Nothing = ({ isFiltered }) => isFiltered
  ? html`<${Empty} title=${words.none.title} text=${words.none.text}><a class="btn" href=${url("/jobs")}>${words.none.all}</a><//>`
  : html`<${Empty} title=${words.empty.title} text=${words.empty.text} command=${words.empty.command}><a class="btn primary" href=${url("/upload")}><${Icon} name="upload" />${words.empty.add}</a><//>`;
