// The workers: what each holds and has, whether it is there, and what may be asked of it.

import { html, useEffect, useMemo, useSignal } from "../lib.js";
import { may, patch } from "../api.js";
import { listen } from "../live.js";
import { Collection, counts, keep, recount, row } from "../store.js";
import { count, percent } from "../format.js";
import { url } from "../root.js";
import { Empty } from "../parts/empty.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { Note, ProblemNote } from "../parts/problem.js";
import { Curve } from "../parts/spark.js";
import { Status } from "../parts/status.js";
import { Time } from "../parts/time.js";
import { say, sayProblem } from "../parts/toast.js";
import { InviteDialog, KeysDialog, WorkerCommands } from "../work/fleet.js";
import words from "../words/workers.js";

const [BEAT_MS, MOVE_MS] = [10_000, 1000];
const AWAY = new Set(["offline", "disabled"]);
const KEPT = 60; // beats: ten minutes
const USAGES = ["cpu_percent", "memory_percent"];
const usages = new Map(); // by worker, what was seen since the page was opened: {at, cpu_percent: [], …}

export default function Workers() {
  const workers = useMemo(() => new Collection("workers"), []);
  const dialog = useSignal(null);
  const close = () => (dialog.value = null);
  useEffect(() => (may("admin") ? follow(workers) : undefined), [workers]);
  if (!may("admin")) return html`<${Head} /><${Note} icon="user" title=${words.forAdmins.title}><p>${words.forAdmins.text}</p><//>`;
  const isEmpty = !workers.ids.value.length && !workers.hasMore.value;
  const invite = () => (dialog.value = { name: "invite" });
  return html`
    <${Head} ids=${workers.ids.value} onInvite=${invite} />
    ${workers.problem.value && html`<${ProblemNote} problem=${workers.problem.value} again=${() => workers.reread()} />`}
    ${isEmpty
      ? html`<${Empty} title=${words.empty.title} text=${words.empty.text} command=${words.empty.command} commandText=${words.empty.or}><button class="btn primary" onClick=${invite}><${Icon} name="plus" />${words.add}</button><//>`
      : html`<div class="panel">${workers.ids.value.map((id) => html`<${Worker} key=${id} id=${id} onOpen=${(name) => (dialog.value = { name, id })} />`)}</div>`}
    ${dialog.value?.name === "invite" && html`<${InviteDialog} onClose=${close} />`}
    ${dialog.value?.name === "keys" && html`<${KeysDialog} id=${dialog.value.id} onClose=${close} />`}
    ${dialog.value?.name === "commands" && html`<${WorkerCommands} id=${dialog.value.id} onClose=${close} />`}
  `;
}

/** Heartbeats and progress are no events of workers: while somebody looks, they are read again. */
function follow(workers) {
  let timer = null;
  const stop = workers.open();
  const read = () => document.hidden || workers.reread();
  const beat = setInterval(read, BEAT_MS);
  const soon = () => (timer ??= setTimeout(() => ((timer = null), read()), MOVE_MS));
  const stopListening = listen((events) => events.some((event) => event.type.startsWith("task.")) && soon());
  return () => [stop, stopListening, () => clearInterval(beat), () => clearTimeout(timer)].forEach((one) => one());
}

function Head({ ids = [], onInvite }) {
  const known = ids.map((id) => row("workers", id).value).filter((one) => one && !AWAY.has(one.status));
  const total = (name) => known.reduce((sum, one) => sum + one[name], 0);
  return html`
    <div class="page-head">
      <h1>${words.title}</h1>
      ${known.length > 0 && html`<p class="num">${words.summary(known.length, count(total("load")), count(total("slots")))}</p>`}
      ${onInvite && html`<div class="end"><button class="btn primary" onClick=${onInvite}><${Icon} name="plus" />${words.add}</button></div>`}
    </div>
  `;
}

function Worker({ id, onOpen }) {
  const worker = row("workers", id).value;
  if (!worker) return null;
  const isAway = worker.status === "offline";
  return html`
    <article class=${isAway ? "worker is-offline" : "worker"} aria-labelledby=${`w-${id}`} data-worker=${worker.name}>
      <div>
        <h2 id=${`w-${id}`}><${Icon} name=${worker.capabilities.some((one) => /nvenc|gpu|vaapi|qsv/.test(one)) ? "gpu" : "worker"} /><span dir="auto">${worker.name}</span></h2>
        <p><${Status} status=${worker.status} word=${words.state(words.states[worker.status] ?? worker.status, isAway ? null : `${worker.load}/${worker.slots}`)} /></p>
        <p class="beat num">
          ${isAway ? words.seen : words.heartbeat} <${Time} at=${worker.last_heartbeat} /> · ${worker.version} <${Skew} version=${worker.version} /><br />
          ${words.totals(count(worker.tasks_done), worker.tasks_failed, count(worker.tasks_failed))}
        </p>
      </div>
      <div>
        <${Slots} worker=${worker} />
        <p class="caps">${[...worker.capabilities, ...Object.entries(worker.lanes).map(([lane, slots]) => words.lane(lane, slots))].map((one) => html`<span class="tag" key=${one}>${one}</span>`)}</p>
      </div>
      <${Machine} worker=${worker} />
      <${Actions} worker=${worker} onOpen=${onOpen} />
    </article>
  `;
}

function Skew({ version }) {
  const server = counts.health.value?.version;
  return server && version !== server && html`<span class="tag">${words.skew(server)}</span>`;
}

function Slots({ worker }) {
  const free = worker.status === "offline" ? 0 : Math.max(0, worker.slots - worker.holds.length);
  const isLate = worker.status === "offline" || worker.status === "late";
  return html`
    <ul class="slots">
      ${worker.holds.map((held) => html`
        <li key=${held.task_id}>
          <a class=${isLate ? "slot is-late" : "slot"} href=${url(`/jobs/${held.job_id}?task=${held.task_id}`)}>
            <b>${held.step}</b><span class="say" dir="auto">${words.holds(held.label ?? "", held.item + 1)}</span><span class="pc">${percent(held.progress)}</span>
            <span class="bar" aria-hidden="true" style=${{ "--p": held.progress }}></span>
          </a>
        </li>
      `)}
      ${free > 0 && html`<li class="slot is-free"><b>${words.free(count(free))}</b><span class="say">${words.why[worker.status] ?? words.why.idle}</span></li>`}
      ${!free && !worker.holds.length && html`<li class="slot is-free"><span class="say">${words.why.offline}</span></li>`}
    </ul>
  `;
}

/** What a worker told with each beat, the newest at the end. */
function usageOf(worker) {
  const known = usages.get(worker.worker_id) ?? Object.fromEntries(USAGES.map((name) => [name, []]));
  if (known.at !== worker.last_heartbeat && worker.cpu_percent !== null) {
    known.at = worker.last_heartbeat;
    for (const name of USAGES) known[name] = [...known[name], worker[name]].slice(-KEPT);
    usages.set(worker.worker_id, known);
  }
  return known;
}

const Usage = ({ worker }) => {
  const known = usageOf(worker);
  return known.at && html`
    <div class="load">${USAGES.map((name) => html`
      <span>${words.usages[name]}</span><${Curve} values=${known[name]} most=${100} /><span class="num">${percent(worker[name])}</span>
    `)}</div>
  `;
};

/** What the machine says of itself. */
const Machine = ({ worker }) => html`
  <div class="stack tight">
    ${worker.status !== "offline" && html`<${Usage} worker=${worker} />`}
    <p class="machine"><span dir="auto">${worker.hostname}</span>, ${words.types[worker.type] ?? worker.type}<br />${words.started} <${Time} at=${worker.started_at} /></p>
  </div>
`;

function Actions({ worker, onOpen }) {
  const { worker_id, name, mode } = worker;
  const set = async (state) => {
    try {
      keep("workers", await patch(`/workers/${worker_id}`, { state }));
      say(words.did[state](name));
    } catch (problem) {
      sayProblem(problem);
    }
    recount("workers");
  };
  const isHeld = mode === "draining" || mode === "disabled";
  return html`
    <div class="acts">
      ${isHeld && html`<button class="btn small" onClick=${() => set("resume")}>${words.acts.resume}</button>`}
      ${mode === "active" && worker.status !== "offline" && html`<button class="btn small" onClick=${() => set("drain")}>${words.acts.drain}</button>`}
      ${mode !== "disabled" && html`<button class="btn small" onClick=${() => set("disable")}>${words.acts.disable}</button>`}
      <${Menu}
        label=${words.more(name)} className="btn quiet small icon-only" button=${html`<${Icon} name="more" />`}
        items=${[{ label: words.keys, icon: "settings", onClick: () => onOpen("keys") }, { label: words.commands, icon: "docs", onClick: () => onOpen("commands") }]}
      />
    </div>
  `;
}
