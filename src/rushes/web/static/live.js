// Live events: one EventSource per browser, and at most one render per frame.
//
//     server --EventSource--> leader tab --BroadcastChannel--> all other tabs
//                                  `--> queue --one batch per frame--> listeners
//
// Whichever tab holds the lock is the leader; when it goes away the next one opens the stream after
// the last event that it heard of. Who may have missed something (a tab that slept, a gap in the
// numbers, a reset by the server) is told to read anew instead.

import { batch, effect, signal } from "./lib.js";
import { me, whoAmI } from "./api.js";
import { root, url } from "./root.js";

/** "connecting", "open" or "away". */
export const connection = signal("connecting");

const NAME = `rushes-live${root}`;
const TYPES = [
  "job.submitted", "job.started", "job.completed", "job.failed", "job.failed_pattern",
  "job.killed", "job.requeued", "job.priority",
  "task.added", "task.ready", "task.claimed", "task.done", "task.retrying", "task.failed", "task.handed_back",
  "task.expired", "task.timed_out", "task.exhausted", "task.killed", "task.skipped", "task.requeued",
  "task.progress", "kind.paused", "kind.resumed", "worker.started", "worker.stopped", "worker.offline",
  "worker.online", "worker.draining", "worker.disabled", "worker.resumed", "video.changed", "video.deleted",
  "video.restored", "clip.deleted",
];
const MOST_WAITING = 5000;
const HIDDEN_MS = 1000;
const AGAIN_MS = [1000, 2000, 5000, 10_000];

const listeners = new Set();
const renewers = new Set();
const channel = new BroadcastChannel(NAME);
let queue = [];
let isDue = false;
let cursor = null;
let heard = null;

/** Hear of events, many at a time: `listener(events)` runs inside a batch. Returns how to stop. */
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Be told when something may have been missed, so that all has to be read anew. */
export function onRenew(renewer) {
  renewers.add(renewer);
  return () => renewers.delete(renewer);
}

/** Begin, once somebody is logged in. */
export function start() {
  channel.onmessage = ({ data }) => receive(data);
  channel.postMessage({ asks: true });
  addEventListener("pageshow", ({ persisted }) => persisted && renew());
  document.addEventListener("resume", renew);
  document.addEventListener("visibilitychange", () => document.hidden || schedule());
  if (navigator.locks) navigator.locks.request(NAME, () => new Promise(lead));
  else lead(); // not a secure context: every tab has a stream of its own
}

function lead() {
  const id = Math.random();
  let number = 0;
  let tries = 0;

  const tell = (told) => {
    const message = { ...told, cursor, state: connection.value, from: id, number: number++ };
    channel.postMessage(message);
    take(message);
  };
  const enter = (state) => {
    connection.value = state;
    tell({});
  };
  const open = () => {
    const source = new EventSource(url(`/api/events${cursor ? `?since=${cursor}` : ""}`));
    source.onopen = () => {
      const wasAway = connection.value === "away"; // events are resumed, but what they made us read may have failed
      const isBlind = !cursor; // it begins now, and what is shown was read before
      tries = 0;
      enter("open");
      if (wasAway || isBlind) tell({ renew: true });
    };
    source.onerror = () => {
      enter("away");
      if (source.readyState === EventSource.CLOSED) setTimeout(reopen, AGAIN_MS[Math.min(tries++, AGAIN_MS.length - 1)]);
    };
    for (const type of TYPES) {
      source.addEventListener(type, (event) => {
        cursor = event.lastEventId || cursor;
        tell({ event: JSON.parse(event.data) });
      });
    }
    for (const type of ["reset", "resync"]) {
      source.addEventListener(type, (event) => {
        cursor = event.lastEventId || null;
        tell({ renew: true });
      });
    }
  };

  const reopen = async () => {
    await whoAmI().catch(() => {}); // perhaps the session is over: then wait for the next one
    const stop = effect(() => {
      if (!me.value) return;
      queueMicrotask(() => stop());
      open();
    });
  };

  channel.onmessage = ({ data }) => data.asks && tell({});
  open();
}

/** What a follower does with a message: a gap in its leader's numbers means that it missed one. */
function receive(message) {
  if (message.asks) return;
  const isGap = heard?.from === message.from && message.number !== heard.number + 1;
  heard = message;
  cursor = message.cursor ?? cursor;
  connection.value = message.state;
  take(isGap ? { renew: true } : message);
}

function take({ event, renew: isRenew }) {
  if (isRenew || queue.length >= MOST_WAITING) return renew();
  if (!event) return;
  queue.push(event);
  schedule();
}

function renew() {
  queue = [];
  batch(() => renewers.forEach((renewer) => renewer()));
}

/** Hand events on with the next frame; a hidden tab has no frames. */
function schedule() {
  if (isDue || !queue.length) return;
  isDue = true;
  if (document.hidden) setTimeout(flush, HIDDEN_MS);
  else requestAnimationFrame(flush);
}

function flush() {
  isDue = false;
  const events = queue;
  queue = [];
  if (events.length) batch(() => listeners.forEach((listener) => listener(events)));
}
