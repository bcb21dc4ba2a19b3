// A contact sheet of the work: one cell per task of a step that has many, one row per quality. Only
// a change of state draws a row again: progress does not.

import { html, useRef } from "../lib.js";
import { count } from "../format.js";
import words from "../words/job.js";

const [WIDE, MOST] = [96, 384];
const FORMS = { done: "d", running: "n", error: "f", killed: "f", skipped: "s" };
const WEIGHT = "fn drs"; // of several tasks in one cell, the first of these is shown

/** `keptBefore` is when somebody last tried the job again: what was done by then was kept. */
export function Chunks({ job, steps, keptBefore, chosen, onChoose }) {
  const many = steps.filter((step) => step.tasks.length > 1);
  if (!many.length) return null;
  const rows = many.flatMap((step) => step.name === "transcode" && job.qualities.length
    ? job.qualities.map((quality) => ({ key: quality.quality, name: quality.quality, step, quality }))
    : [{ key: step.name, name: step.name, step }]);
  const isKept = keptBefore && steps.some((step) => step.tasks.some((task) => form(task, keptBefore) === "r"));
  return html`
    <section class="section" aria-labelledby="chunks">
      <header>
        <h2 id="chunks">${words.chunks}</h2><p>${words.chunksText}</p>
        <ul class="legend end">
          ${["d", isKept && "r", "n", "f", "t"].filter(Boolean).map((one) => html`<li><span class=${`cell ${one}`}></span>${words.forms[one]}</li>`)}
        </ul>
      </header>
      <div class="chunks">${rows.map(({ key, name, step, quality }) => html`
        <${Line} key=${key} name=${name} step=${step} quality=${quality} keptBefore=${keptBefore} chosen=${chosen} onChoose=${onChoose} />
      `)}</div>
    </section>
  `;
}

function form(task, keptBefore) {
  if (task.state === "done" && keptBefore && Date.parse(task.finished_at) < keptBefore) return "r";
  return FORMS[task.state] ?? (task.failure ? "f" : " ");
}

/** Several tasks share a cell when there are very many. */
function cellsOf(tasks, keptBefore) {
  const each = Math.ceil(tasks.length / MOST);
  const cells = [];
  for (let at = 0; at < tasks.length; at += each) {
    const some = tasks.slice(at, at + each);
    const forms = some.map((task) => form(task, keptBefore));
    const look = [...WEIGHT].find((one) => forms.includes(one)) ?? " ";
    cells.push({ look, task: some[Math.max(0, forms.indexOf(look))], first: at, last: at + some.length - 1 });
  }
  return cells;
}

function Line({ name, step, quality, keptBefore, chosen, onChoose }) {
  const drawn = useRef({ key: null });
  const isSkipped = quality?.status === "skipped";
  const cells = cellsOf(step.tasks, keptBefore);
  const key = `${cells.map((cell) => cell.look).join("")}|${chosen}|${isSkipped}`;
  if (drawn.current.key !== key) drawn.current = { key, shown: draw({ name, cells, chosen, onChoose, step }) };
  const all = step.tasks.length;
  return html`
    <div class="lead">
      <span class="rung">${name}</span>${isSkipped ? html`<span class="say">${words.rungSkipped}</span>` : drawn.current.shown}
      <span class="say num">${words.of(count(step.counts.done ?? 0), count(all))}</span>
    </div>
  `;
}

/** Cells are buttons with one stop for the tab key; arrows move between them. */
function draw({ name, cells, chosen, onChoose, step }) {
  const stop = Math.max(0, cells.findIndex(({ task }) => task.task_id === chosen));
  const onKey = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: WIDE, ArrowUp: -WIDE }[event.key];
    const next = by && event.target.parentElement.children[[...event.target.parentElement.children].indexOf(event.target) + by];
    if (!next) return;
    event.preventDefault();
    next.focus();
  };
  return html`
    <div class="cells" role="group" aria-label=${name} style=${{ "--w": Math.min(cells.length, WIDE) }} onKeyDown=${onKey}>
      ${cells.map(({ look, task, first, last }, at) => html`
        <button
          type="button" key=${at} class=${look} tabindex=${at === stop ? 0 : -1} aria-pressed=${task.task_id === chosen}
          aria-label=${words.cell(step.name, first + 1, last + 1, words.forms[look.trim() || "t"])} onClick=${() => onChoose(task)}
        ></button>
      `)}
    </div>
  `;
}
