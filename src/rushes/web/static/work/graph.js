// The steps of a job as a graph: what runs after what, and how far each is. On a small screen, or
// for a plan that no screen could hold, they are lines.

import { html } from "../lib.js";
import { count, percent, span } from "../format.js";
import { Icon } from "../parts/icon.js";
import { Bar } from "../parts/progress.js";
import { isNarrow } from "./narrow.js";
import words from "../words/job.js";

const [WIDTH, HEIGHT, ACROSS, DOWN, BEND, MOST] = [176, 60, 240, 76, 8, 24];
const ICONS = { done: "completed", running: "running", error: "failed", killed: "killed", skipped: "skipped", ready: "queued", new: "queued" };
const LOOKS = { done: "is-done", running: "is-running", error: "is-error", killed: "is-killed", skipped: "is-new", ready: "", new: "is-new" };

export function Graph({ steps, chosen, onChoose }) {
  if (isNarrow.value || steps.length > MOST) return html`<${Lines} steps=${steps} chosen=${chosen} onChoose=${onChoose} />`;
  const places = layOut(steps);
  const [right, bottom] = [Math.max(...[...places.values()].map(({ x }) => x)), Math.max(...[...places.values()].map(({ y }) => y))];
  const [width, height] = [right * ACROSS + WIDTH, bottom * DOWN + HEIGHT];
  return html`
    <div class="graphwrap" tabindex="0" role="region" aria-label=${words.graph}>
      <div class="taskgraph" style=${{ "--gw": `${width}px`, "--gh": `${height}px` }}>
        <svg class="edges" viewBox=${`0 0 ${width} ${height}`} aria-hidden="true">
          ${steps.flatMap((step) => direct(step, steps).map((parent) => html`<path key=${`${parent.name}>${step.name}`} class=${edgeLook(parent, step)} d=${line(places.get(parent.name), places.get(step.name))} />`))}
        </svg>
        ${steps.map((step) => html`<${Node} key=${step.name} step=${step} at=${places.get(step.name)} isChosen=${chosen === step.name} onChoose=${onChoose} />`)}
      </div>
    </div>
  `;
}

const Node = ({ step, at, isChosen, onChoose }) => html`
  <button
    type="button" class=${`node ${LOOKS[step.state]}`} aria-current=${isChosen ? "true" : undefined} data-step=${step.name}
    style=${{ "--x": `${at.x * ACROSS}px`, "--y": `${at.y * DOWN}px` }} onClick=${() => onChoose(step.name)}
  >
    <b><${Icon} name=${ICONS[step.state]} /><span class="name">${step.name}</span>${step.tasks.length > 1 && html`<span class="n">${done(step)}/${count(step.tasks.length)}</span>`}</b>
    <span>${says(step)}</span>
    ${step.state === "running" && html`<span class="bar" aria-hidden="true" style=${{ "--p": step.percent }}></span>`}
  </button>
`;

/** The same as lines, each of which says all that its node would. */
const Lines = ({ steps, chosen, onChoose }) => html`
  <ol class="steplines">
    ${steps.map((step) => html`
      <li key=${step.name}>
        <button type="button" class=${LOOKS[step.state]} aria-current=${chosen === step.name ? "true" : undefined} data-step=${step.name} onClick=${() => onChoose(step.name)}>
          <${Icon} name=${ICONS[step.state]} /><b>${step.name}</b>
          <span class="n num">${step.tasks.length > 1 ? words.of(done(step), count(step.tasks.length)) : step.state === "running" ? percent(step.percent) : ""}</span>
          <span class="says">${says(step)}</span>
          <${Bar} value=${step.percent} label=${step.name} look=${{ done: "done", skipped: "done", error: "failed", killed: "killed" }[step.state]} />
        </button>
      </li>
    `)}
  </ol>
`;

const done = ({ counts }) => count((counts.done ?? 0) + (counts.skipped ?? 0));

/** What a step is doing, in a few words. */
export function says({ state, tasks, counts, after }) {
  const word = words.states[state];
  if (state === "done") return words.doneIn(span(took(tasks)), who(tasks));
  if (state === "running") {
    const again = tasks.filter((task) => task.state !== "done" && task.failure).length;
    const parts = [counts.running && words.now(count(counts.running)), again && words.again(count(again)), !counts.running && counts.ready && words.readyNow(count(counts.ready))];
    return `${word} · ${tasks.length === 1 ? `${percent(tasks[0].progress)} ${words.on(tasks[0].worker)}` : parts.filter(Boolean).join(", ")}`;
  }
  if (state === "error") return `${word} · ${tasks.find((task) => task.failure)?.failure?.error_code ?? ""}`;
  if (state === "new" && after.length) return `${word} · ${words.needs(after.at(-1))}`;
  if (state === "skipped") return words.skipped[tasks[0]?.skip_reason] ?? word;
  return word;
}

/** How many seconds passed from the first claim to the last end. */
export function took(tasks) {
  const times = (name) => tasks.map((task) => task[name] && Date.parse(task[name])).filter(Boolean);
  return (Math.max(...times("finished_at")) - Math.min(...times("claimed_at"))) / 1000 || 0;
}

function who(tasks) {
  const names = [...new Set(tasks.map((task) => task.last_worker ?? task.worker).filter(Boolean))];
  return names.length > 1 ? words.workers(names.length) : names[0];
}

const edgeLook = (parent, step) => {
  if (parent.state === "error" || parent.state === "killed") return "dead";
  if (parent.state === "running") return "live";
  return parent.state === "done" || parent.state === "skipped" ? "done" : "";
};

/** The parents of a step without those that another parent waits for anyway. */
function direct(step, steps) {
  const byName = new Map(steps.map((one) => [one.name, one]));
  const reaches = (from, name) => byName.get(from)?.after.some((one) => one === name || reaches(one, name));
  return step.after.filter((name) => byName.has(name) && !step.after.some((other) => other !== name && reaches(other, name))).map((name) => byName.get(name));
}

/** Columns by the longest way from the start; rows beside the parents, long ways at the top. */
function layOut(steps) {
  const places = new Map();
  const columns = new Map(steps.map((step) => [step.name, step.depth]));
  const isLong = (step) => steps.some((child) => direct(child, steps).includes(step) && columns.get(child.name) > columns.get(step.name) + 1);
  for (let x = 0; x <= Math.max(...columns.values()); x++) {
    const here = steps.filter((step) => columns.get(step.name) === x).sort((one, other) => isLong(other) - isLong(one));
    const wish = (step) => mean(direct(step, steps).map((parent) => places.get(parent.name).y));
    if (x > 1) here.sort((one, other) => wish(one) - wish(other));
    let next = 0;
    for (const step of here) {
      const y = Math.max(next, x > 1 ? Math.round(wish(step)) : next);
      places.set(step.name, { x, y });
      next = y + 1;
    }
  }
  const roots = steps.filter((step) => columns.get(step.name) === 0);
  if (roots.length === 1) places.get(roots[0].name).y = mean([...places].filter(([name]) => columns.get(name) === 1).map(([, at]) => at.y)) || 0;
  return places;
}

const mean = (numbers) => numbers.reduce((sum, one) => sum + one, 0) / (numbers.length || 1);

/** From the side of one node to the side of another, with the bend just before the second. */
function line(from, to) {
  const [x1, y1] = [from.x * ACROSS + WIDTH, from.y * DOWN + HEIGHT / 2];
  const [x2, y2] = [to.x * ACROSS, to.y * DOWN + HEIGHT / 2];
  if (Math.abs(y1 - y2) < 1) return `M${x1} ${y1}H${x2}`;
  const middle = x2 - (ACROSS - WIDTH) / 2;
  const bend = Math.min(BEND, Math.abs(y2 - y1) / 2) * Math.sign(y2 - y1);
  return `M${x1} ${y1}H${middle - BEND}Q${middle} ${y1} ${middle} ${y1 + bend}V${y2 - bend}Q${middle} ${y2} ${middle + BEND} ${y2}H${x2}`;
}
