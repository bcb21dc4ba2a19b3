// One job as its page shows it: read once, then moved by events, and read again now and then.
// Moves of tasks are in the events, so the grid is as quick as they are, whatever a read costs.

import { batch, signal } from "../lib.js";
import { get } from "../api.js";
import { listen, onRenew } from "../live.js";

const STATES = {
  "task.ready": "ready", "task.claimed": "running", "task.done": "done", "task.retrying": "new", "task.failed": "error",
  "task.handed_back": "ready", "task.expired": "ready", "task.timed_out": "ready", "task.exhausted": "error",
  "task.killed": "killed", "task.skipped": "skipped", "task.requeued": "new",
};
const [LEAST_MS, REST] = [1000, 4]; // a read that took long is not repeated soon

export class JobView {
  constructor(id) {
    Object.assign(this, { id, timer: null, isReading: false, isAsked: false, isOpen: false });
    this.job = signal(null);
    this.events = signal([]);
    this.problem = signal(null);
  }

  /** Begin, and follow until the returned function is called: for useEffect. */
  open() {
    this.isOpen = true;
    this.readAll();
    const stops = [listen((events) => this.#apply(events)), onRenew(() => this.readAll())];
    return () => {
      this.isOpen = false;
      clearTimeout(this.timer);
      stops.forEach((stop) => stop());
    };
  }

  readAll() {
    this.read();
    this.#tell(async () => {
      const { items } = await get(`/jobs/${this.id}/events`);
      this.#note(items);
    });
  }

  /** Read the job now, or as soon as the last reading is long enough ago. */
  async read() {
    if (this.isReading || this.timer) {
      this.isAsked = true;
      return;
    }
    this.isReading = true;
    const began = performance.now();
    await this.#tell(async () => {
      this.job.value = await get(`/jobs/${this.id}`);
      this.problem.value = null;
    });
    this.isReading = false;
    if (!this.isOpen) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      if (this.isAsked) {
        this.isAsked = false;
        this.read();
      }
    }, Math.max(LEAST_MS, REST * (performance.now() - began)));
  }

  #apply(events) {
    const mine = events.filter((event) => event.job_id && event.job_id === this.job.value?.job_id);
    if (events.some((event) => event.type.startsWith("kind.") || event.type.startsWith("worker."))) this.read();
    if (!mine.length) return;
    this.job.value = mine.reduce(moved, { ...this.job.value, tasks: [...this.job.value.tasks] });
    const told = mine.filter((event) => event.type !== "task.progress");
    if (!told.length) return;
    this.#note(told);
    this.read();
  }

  /** Sort by number, which grows from cause to effect; the feed need not. */
  #note(found) {
    const known = new Map(this.events.value.map((event) => [event.event_id, event]));
    for (const event of found) known.set(event.event_id, event);
    this.events.value = [...known.values()].sort((one, other) => one.event_id - other.event_id);
  }

  async #tell(work) {
    try {
      await work();
    } catch (problem) {
      batch(() => (this.problem.value = problem));
    }
  }
}

/** The job after one event; its list of tasks may be written to. */
function moved(job, { type, data }) {
  if (type === "task.progress") {
    change(job.tasks, data.task_id, (task) => ({ progress: Math.max(task.progress, data.progress), phase: data.phase, message: data.message }));
    return { ...job, progress: { ...job.progress, percent: Math.max(job.progress.percent, data.percent) } };
  }
  if (STATES[type]) for (const id of tasksOf(data)) change(job.tasks, id, () => ({ state: STATES[type] }));
  return job;
}

/** The tasks of an event: ids, or pairs of an id and its epoch; some only count them. */
export const tasksOf = ({ tasks }) => (Array.isArray(tasks) ? tasks.map(([id]) => id) : []);

function change(tasks, id, news) {
  const at = tasks.findIndex((task) => task.task_id === id);
  if (at >= 0) tasks[at] = { ...tasks[at], ...news(tasks[at]) };
}

/** The steps of a job: [{name, tasks, counts, state, after, weight, percent, depth}] */
export function stepsOf(job) {
  const byStep = new Map(Object.keys(job.plan).map((name) => [name, []]));
  for (const task of job.tasks) (byStep.get(task.step) ?? byStep.set(task.step, []).get(task.step)).push(task);
  const steps = [...byStep].map(([name, tasks]) => {
    const counts = {};
    for (const { state } of tasks) counts[state] = (counts[state] ?? 0) + 1;
    const { after = [], weight = 1 } = job.plan[name] ?? {};
    const reached = tasks.reduce((sum, task) => sum + (isOver(task) ? 100 : task.progress), 0);
    return { name, tasks, counts, state: stateOf(counts, tasks.length), after, weight, percent: tasks.length ? reached / tasks.length : 0 };
  });
  return inOrder(steps);
}

/** What runs first stands first: by the longest way from the start. */
function inOrder(steps) {
  const byName = new Map(steps.map((step) => [step.name, step]));
  const depth = (step) => 1 + Math.max(-1, ...step.after.map((name) => (byName.has(name) ? depth(byName.get(name)) : -1)));
  for (const step of steps) step.depth = depth(step);
  return steps.sort((one, other) => one.depth - other.depth);
}

const isOver = ({ state }) => state === "done" || state === "skipped";

/** One word for many tasks, the one that matters most. */
function stateOf(counts, all) {
  if (counts.running) return "running";
  if (counts.error) return "error";
  if (counts.killed) return "killed";
  if (all && (counts.done ?? 0) + (counts.skipped ?? 0) === all) return counts.done ? "done" : "skipped";
  return counts.ready ? "ready" : counts.done ? "running" : "new";
}
