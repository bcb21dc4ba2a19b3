// What is remembered of uploads across reloads: in IndexedDB, because file handles fit nowhere else.

import { root } from "../root.js";

const NAME = `rushes-uploads${root}`;
const STORE = "uploads";

let opened = null;

function database() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "id" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}

async function ask(mode, question) {
  const store = (await database()).transaction(STORE, mode).objectStore(STORE);
  const request = question(store);
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

export const remember = (entry) => ask("readwrite", (store) => store.put(entry));
export const forget = (id) => ask("readwrite", (store) => store.delete(id));
export const remembered = () => ask("readonly", (store) => store.getAll());

/** Hold an upload for this tab until it is closed. False: another tab has it. */
export function hold(id) {
  if (!navigator.locks) return Promise.resolve(true);
  return new Promise((resolve) => {
    navigator.locks.request(`${NAME}-${id}`, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock && new Promise(() => {});
    });
  });
}
