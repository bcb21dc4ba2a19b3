// The queue of uploads: it lives across pages, and what it forgot after a reload it finds again.
//
//     waiting -> checking -> sending -> done        the row turns into that of the job
//                   |           |-> paused, failed  resume and retry lead back to waiting
//                   `-------`-> duplicate           until somebody says: upload anyway
//     after a reload: waiting (the browser may read the file), asks (it may, if somebody clicks),
//     lost (the file has to be chosen again)

import { computed, effect, signal } from "../lib.js";
import { AWAY, get, Problem } from "../api.js";
import { refresh } from "../store.js";
import { forget, hold, remember, remembered } from "./memory.js";
import { current } from "./settings.js";

const AT_ONCE = 2;
const SPEED_MS = 500;

/** The ids of all uploads, in their order. */
export const order = signal([]);

const items = new Map(); // id -> signal of what is shown
const held = new Map(); // id -> {file, handle, sender}: what is not shown

export const upload = (id) => items.get(id);
export const fileOf = (id) => held.get(id)?.file ?? null;

const all = () => order.value.map((id) => items.get(id).value);
const ACTIVE = ["checking", "sending"];
const OPEN = [...ACTIVE, "waiting", "paused", "failed", "lost", "asks", "duplicate"];

/** Those that are not over. */
export const open = computed(() => all().filter((one) => OPEN.includes(one.state)));
export const isBusy = computed(() => all().some((one) => [...ACTIVE, "waiting"].includes(one.state)));

/** Take files in: [{file, handle, folder}]. A file that an upload was waiting for goes on there. */
export async function add(found) {
  for (const { file, handle, folder } of found) {
    const known = all().find((one) => one.state === "lost" && isSame(one, file));
    if (known) {
      held.set(known.id, { file, handle });
      change(known.id, { state: "waiting", wasResumed: true });
    } else {
      enter(file, handle, folder);
    }
  }
  pump();
}

export function pause(id) {
  held.get(id).sender?.stop();
  change(id, { state: "paused", speed: 0 });
  pump();
}

/** Go on: after a pause, a failure, or a reload after which the browser asks for permission. */
export async function resume(id) {
  const { state } = items.get(id).value;
  if (state === "asks" && !(await reopen(id, "requestPermission"))) return;
  change(id, { state: "waiting", problem: null });
  pump();
}

export function pauseAll() {
  for (const one of all()) if (["waiting", ...ACTIVE].includes(one.state)) pause(one.id);
}

export function resumeAll() {
  for (const one of all()) if (one.state === "paused") resume(one.id);
}

/** Send a film that is in the library already. */
export function sendAnyway(id) {
  const { metadata } = items.get(id).value;
  change(id, { state: "waiting", metadata: { ...metadata, duplicate: "allow" }, place: null, same: null });
  pump();
}

/** Give an upload up, also on the server; or take one away that is done. */
export function drop(id) {
  held.get(id).sender?.cancel();
  held.delete(id);
  order.value = order.value.filter((other) => other !== id);
  items.delete(id);
  forget(id);
  pump();
}

/** Move one in the queue: -1 is earlier. */
export function move(id, step) {
  const at = order.value.indexOf(id);
  const to = Math.min(Math.max(at + step, 0), order.value.length - 1);
  order.value = order.value.with(at, order.value[to]).with(to, id);
}

/** Find what an earlier page was about to send, unless another tab does. Called once. */
export async function restore() {
  for (const { handle, ...entry } of await remembered().catch(() => [])) {
    if (items.has(entry.id) || !(await hold(entry.id))) continue;
    held.set(entry.id, { handle });
    items.set(entry.id, signal({ ...entry, state: "lost", speed: 0, wasResumed: true }));
    order.value = [...order.value, entry.id];
    await look(entry.id);
    if (handle && (await reopen(entry.id, "queryPermission"))) change(entry.id, { state: "waiting" });
    else if (handle) change(entry.id, { state: "asks" });
  }
  pump();
}

function enter(file, handle, folder) {
  const id = `${Date.now()}-${Math.random().toString(36).slice(2, 8)}`;
  const { name, size, lastModified: modified } = file;
  const metadata = { filename: name, ...current() };
  hold(id);
  held.set(id, { file, handle });
  items.set(id, signal({ id, name, size, modified, folder, metadata, state: "waiting", sent: 0, speed: 0, place: null }));
  order.value = [...order.value, id];
  note(id);
}

function pump() {
  const active = all().filter((one) => ACTIVE.includes(one.state)).length;
  const next = all().filter((one) => one.state === "waiting").slice(0, Math.max(0, AT_ONCE - active));
  for (const one of next) begin(one.id);
}

async function begin(id) {
  change(id, { state: "checking" });
  const { file } = held.get(id);
  const { metadata, place } = items.get(id).value;
  const sender = await import("./sender.js").catch(() => null);
  if (!sender) {
    change(id, { state: "failed", problem: new Problem(AWAY) });
    return pump();
  }
  const isNew = !metadata.duplicate && !place;
  const same = isNew && sender.isQuick(file) ? await sender.findSame(file).catch(() => null) : null;
  if (items.get(id)?.value.state !== "checking") return; // somebody paused or dropped it meanwhile
  if (same) return isThere(id, same);
  change(id, { state: "sending" });
  held.get(id).sender = sender.send(file, { metadata, place }, listener(id));
  if (isNew && !sender.isQuick(file)) lookMeanwhile(id, sender);
}

/** A large film is looked for on its way: if it is there already, the rest of it stays. */
async function lookMeanwhile(id, { findSame }) {
  const isWanted = () => [...ACTIVE, "waiting", "paused"].includes(items.get(id)?.value.state) && !held.get(id).isSent;
  const same = await findSame(held.get(id).file, isWanted).catch(() => null);
  if (!same || !isWanted()) return;
  held.get(id).sender.cancel();
  isThere(id, same);
}

/** The same is in the library: whoever added it decides. */
function isThere(id, { asset_id, title }) {
  change(id, { state: "duplicate", same: { asset_id, title }, place: null, sent: 0, speed: 0 });
  note(id);
  pump();
}

/** What an upload tells. An upload that was dropped meanwhile is not there any more. */
function listener(id) {
  let last = { at: performance.now(), sent: items.get(id).value.sent };
  const ifThere = (does) => (told) => items.has(id) && does(told);
  return {
    place: ifThere((place) => {
      change(id, { place });
      note(id);
    }),
    progress: ifThere((sent) => {
      held.get(id).isSent = sent === items.get(id).value.size; // from now on what is found may be this one
      const now = performance.now();
      const seconds = (now - last.at) / 1000;
      if (seconds * 1000 < SPEED_MS) return;
      change(id, { sent, speed: Math.max(0, sent - last.sent) / seconds });
      last = { at: now, sent };
    }),
    done: ifThere(({ asset_id, job_id }) => {
      change(id, { state: "done", sent: items.get(id).value.size, asset_id, job_id });
      forget(id);
      refresh("videos", asset_id);
      pump();
    }),
    refused: ifThere((problem) => {
      if (problem.code === "DUPLICATE_OF") return isThere(id, { asset_id: problem.told.asset_id, title: null });
      change(id, { state: "failed", problem, place: isGone(problem) ? null : items.get(id).value.place });
      return pump();
    }),
  };
}

const isGone = ({ status }) => status === 404 || status === 410;
const isSame = (item, file) => item.name === file.name && item.size === file.size && item.modified === file.lastModified;

/** Open the file of a handle, if it is still the one that it was. */
async function reopen(id, permission) {
  const { handle } = held.get(id);
  try {
    if ((await handle[permission]({ mode: "read" })) !== "granted") return false;
    const file = await handle.getFile();
    if (!isSame(items.get(id).value, file)) throw new Error("changed");
    held.set(id, { handle, file });
    return true;
  } catch {
    change(id, { state: "lost" });
    return false;
  }
}

/** Ask the server how far an upload is. One that has expired begins anew. */
async function look(id) {
  const { place } = items.get(id).value;
  if (!place) return;
  try {
    const { offset } = await get(`/uploads/${place.split("/").at(-1)}`);
    change(id, { sent: offset });
  } catch (problem) {
    if (isGone(problem)) change(id, { place: null, sent: 0 });
  }
}

function change(id, changes) {
  const item = items.get(id);
  if (item) item.value = { ...item.value, ...changes };
}

function note(id) {
  const { name, size, modified, folder, metadata, place, sent } = items.get(id).value;
  remember({ id, name, size, modified, folder, metadata, place, sent, handle: held.get(id).handle ?? null }).catch(() => {});
}

effect(() => {
  const guard = (event) => event.preventDefault();
  if (!isBusy.value) return undefined;
  addEventListener("beforeunload", guard);
  return () => removeEventListener("beforeunload", guard);
});
