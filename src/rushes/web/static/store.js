// What the page knows of the server. Rows are signals, shared by all who show them: an event that
// changes a row re-renders the parts that read it, and nothing else.

import { batch, signal } from "./lib.js";
import { get, may } from "./api.js";
import { listen, onRenew } from "./live.js";

const KINDS = {
  videos: { id: "asset_id", path: "/videos" },
  jobs: { id: "job_id", path: "/jobs" },
  workers: { id: "worker_id", path: "/workers" },
  clips: { id: "clip_id", path: "/clips" },
};
const rows = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, new Map()]));
const collections = new Set();
const AT_MOST_EVERY_MS = 1000;
const [MOST_IDS, GATHER_MS] = [100, 20]; // one request asks for all jobs of that time, up to so many

/** What the side bar counts; null: not known yet. */
export const counts = {
  videos: signal(null),
  jobs: signal(null),
  failed: signal(null),
  workers: signal(null),
  health: signal(null),
};

/** The row of an id: a signal, made once; its value is null until it is known. */
export function row(kind, id) {
  if (!rows[kind].has(id)) rows[kind].set(id, signal(null));
  return rows[kind].get(id);
}

/** Keep what the server said. Fields that this answer does not have stay as they were. */
export function keep(kind, found) {
  const known = row(kind, found[KINDS[kind].id]);
  const isTold = kind !== "jobs" || found.work || !isOpen(found); // a list does not tell the work of jobs
  known.value = { ...known.value, ...found, ...(isTold ? {} : { work: known.value?.work ?? null }) };
  return known;
}

/** Read one row again, at most once a second however often this is called. */
export function refresh(kind, id) {
  if (kind === "jobs") {
    if (!asked.size) setTimeout(() => soon(asked, readJobs), GATHER_MS);
    asked.add(id);
    return undefined;
  }
  return soon(`${kind}/${id}`, async () => {
    try {
      sift(kind, keep(kind, await get(`${KINDS[kind].path}/${id}`)).value);
    } catch (problem) {
      if (problem.status === 404) forget(kind, id);
    }
  });
}

const asked = new Set();

/** Read all jobs that were asked for since the last time, in one request. */
async function readJobs() {
  const ids = [...asked].slice(0, MOST_IDS);
  ids.forEach((id) => asked.delete(id));
  if (asked.size) soon(asked, readJobs);
  try {
    const { items } = await get("/jobs", { id: ids });
    batch(() => {
      for (const one of items) sift("jobs", keep("jobs", one).value);
      const found = new Set(items.map((one) => one.job_id));
      for (const id of ids) if (!found.has(id)) forget("jobs", id);
    });
  } catch {
    // the page around it says that the server is away; then all is read anew
  }
}

/** Take a row out of the lists that it is no longer one for. */
function sift(kind, found) {
  const id = found[KINDS[kind].id];
  for (const one of collections) {
    if (one.kind === kind && !one.fits(found)) one.ids.value = one.ids.value.filter((other) => other !== id);
  }
}

/** Take a row out of every list. */
export function forget(kind, id) {
  rows[kind].delete(id);
  for (const one of collections) {
    if (one.kind === kind) one.ids.value = one.ids.value.filter((other) => other !== id);
  }
}

/**
 * A list that the server hands out in pages. `ids` are in its order; rows are read with `row`.
 * `fits` says whether a row that has changed is still one for this list.
 */
export class Collection {
  constructor(kind, query = {}, path = KINDS[kind].path, fits = (found) => !found.deleted_at) {
    Object.assign(this, { kind, path, query, fits, cursor: null });
    this.ids = signal([]);
    this.problem = signal(null);
    this.isLoading = signal(false);
    this.hasMore = signal(true);
  }

  /** Begin, and follow what is new until the returned function is called: for useEffect. */
  open() {
    collections.add(this);
    this.more();
    return () => collections.delete(this);
  }

  /** Read the next page. */
  async more() {
    if (this.isLoading.value || !this.hasMore.value) return;
    await this.#read(this.cursor, () => true, (found) => [...this.ids.value, ...found]);
  }

  /** Read what is new: it comes to the front, and the rest stays where it is. */
  async renew() {
    const known = new Set(this.ids.value);
    const isJoined = (found) => !known.size || found.some((id) => known.has(id));
    await this.#read(null, isJoined, (found) => [...found, ...this.ids.value], { isFront: known.size > 0 });
  }

  /** Read all again, as far as it was known: something may have been missed. */
  async reread() {
    const wanted = this.ids.value.length;
    await this.#read(null, (found) => found.length >= wanted, (found) => found);
  }

  /** Read pages until they are enough, and merge their ids. At the front the end stays what it was. */
  async #read(cursor, isEnough, merge, { isFront = false } = {}) {
    this.isLoading.value = true;
    const found = [];
    try {
      do {
        const page = await get(this.path, { ...this.query, cursor });
        batch(() => found.push(...page.items.map((one) => keep(this.kind, one).value[KINDS[this.kind].id])));
        cursor = page.next_cursor;
      } while (cursor !== null && !isEnough(found));
      batch(() => {
        this.ids.value = [...new Set(merge(found))];
        this.problem.value = null;
        if (!isFront) Object.assign(this, { cursor }).hasMore.value = cursor !== null;
      });
    } catch (problem) {
      this.problem.value = problem;
    } finally {
      this.isLoading.value = false;
    }
  }
}

/** Begin to follow the server. Called once, when somebody is logged in. */
export function follow() {
  listen((events) => events.forEach(apply));
  onRenew(readAll);
  readAll();
}

function readAll() {
  for (const kind of ["videos", "jobs", "failed", "workers", "health"]) recount(kind);
  for (const one of collections) one.reread();
  for (const [kind, known] of Object.entries(rows)) {
    for (const [id, { value }] of known) if (value && (kind === "jobs" ? value.work : isOpen(value))) refresh(kind, id);
  }
}

const isOpen = (value) => value.work != null || ["queued", "running"].includes(value.status);

function apply(event) {
  if (event.type === "task.progress") return progress(event);
  const [topic] = event.type.split(".");
  if (topic === "worker") {
    recount("workers");
    recount("health");
    renewAll((kind) => kind === "workers");
  }
  if (topic === "video" || topic === "clip") libraryChanged(event);
  if (event.asset_id && rows.videos.get(event.asset_id)?.value) refresh("videos", event.asset_id);
  if (topic === "job") jobChanged(event);
  if (event.job_id && rows.jobs.get(event.job_id)?.value) refresh("jobs", event.job_id);
  const clip = clipOf(event.job_id);
  if (clip) refresh("clips", clip.value.clip_id);
}

/** Somebody deleted something, or brought a video back: it belongs where it was, with its clips. */
function libraryChanged({ type, asset_id, data }) {
  if (type === "clip.deleted") return forget("clips", data.clip_id);
  if (type === "video.changed") return;
  recount("videos");
  if (type === "video.deleted") {
    for (const [id, { value }] of rows.clips) if (value?.video_id === asset_id) forget("clips", id);
    return;
  }
  for (const one of collections) {
    if (one.kind === "videos" || one.kind === "clips") soon(one.ids, () => one.reread());
  }
}

/** The clip that a job makes, if it is known and not there yet. */
function clipOf(jobId) {
  return [...rows.clips.values()].find(({ value }) => value?.job_id === jobId && isOpen(value));
}

const renewAll = (isMeant) => {
  for (const one of collections) if (isMeant(one.kind)) soon(one, () => one.renew());
};

function jobChanged(event) {
  recount("jobs");
  recount("videos");
  if (event.type !== "job.started") recount("failed");
  if (event.type !== "job.priority") renewAll((kind) => kind === "jobs" || (kind !== "workers" && event.type !== "job.started"));
  if (event.type === "job.completed") recount("health");
}

/** Progress is in the event itself: nothing is read. It never goes back on the screen. */
function progress({ job_id, asset_id, data }) {
  const video = rows.videos.get(asset_id);
  if (video?.value?.work) {
    const percent = Math.max(video.value.work.percent, data.percent);
    video.value = { ...video.value, work: { ...video.value.work, percent, step: data.step } };
  }
  const clip = clipOf(job_id);
  if (clip) clip.value = { ...clip.value, status: "running", percent: Math.max(clip.value.percent, data.percent) };
  const job = rows.jobs.get(job_id);
  if (job?.value?.progress) {
    const percent = Math.max(job.value.progress.percent, data.percent);
    const work = job.value.work && { ...job.value.work, step: data.step };
    job.value = { ...job.value, work, progress: { ...job.value.progress, percent, phase: data.phase, message: data.message } };
  }
}

const COUNTED = {
  videos: () => get("/videos/counts"),
  jobs: () => get("/jobs/counts"),
  failed: async () => (await get("/failed/groups")).items.length,
  workers: async () => may("admin") ? (await get("/workers")).items.filter((one) => one.status !== "offline").length : null,
  health: () => may("admin") ? get("/health") : null,
};

/** Count something again, at most once a second. */
export function recount(what) {
  return soon(what, async () => {
    try {
      counts[what].value = await COUNTED[what]();
    } catch {
      counts[what].value = null; // the page around it says that the server is away
    }
  });
}

const waiting = new Map();

/** Do something now, but not again within a second: then once more at its end. */
function soon(key, work) {
  const known = waiting.get(key);
  if (known) {
    known.isWanted = true;
    return;
  }
  const entry = { isWanted: false };
  waiting.set(key, entry);
  work();
  setTimeout(() => {
    waiting.delete(key);
    if (entry.isWanted) soon(key, work);
  }, AT_MOST_EVERY_MS);
}
