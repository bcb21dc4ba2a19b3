// Sends one file with tus: in parts, and on from where it stopped. Loaded with the first upload.

import "../vendor/tus.min.js";
import { get, me, Problem } from "../api.js";
import { url } from "../root.js";
import { sha256 } from "./sha256.js";

const { tus } = window;
const PART_BYTES = 50_000_000;
const QUICK_BYTES = 64_000_000;
const RETRY_MS = [0, 1000, 2000, 5000, 10_000, ...Array(60).fill(20_000)];

/** Whether it takes so little to find out what a file holds that sending it may wait. */
export const isQuick = (file) => file.size <= QUICK_BYTES;

/** The video that has the same content already; null: none, or `isWanted` said that nobody waits. */
export async function findSame(file, isWanted) {
  const digest = isQuick(file) && globalThis.crypto?.subtle ? await digestOf(file) : await sha256(file, isWanted);
  return digest && ((await get("/videos", { sha256: digest })).items[0] ?? null);
}

async function digestOf(file) {
  const digest = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Begin to send. `told` hears: place(url), progress(sent), done({asset_id, job_id}), refused(problem).
 * Returns {stop, cancel}: an upload that was stopped can go on, one that was cancelled is gone.
 */
export function send(file, { metadata, place }, told) {
  const made = {};
  const upload = new tus.Upload(file, {
    endpoint: url("/api/uploads"),
    uploadUrl: place,
    chunkSize: PART_BYTES,
    retryDelays: RETRY_MS,
    onShouldRetry: (error) => isPassing(problemOf(error)),
    storeFingerprintForResuming: false,
    metadata,
    onBeforeRequest: (request) => request.setHeader("X-CSRF-Token", me.value?.csrf ?? ""),
    onAfterResponse: (_, response) => {
      made.asset_id = response.getHeader("Rushes-Video") ?? made.asset_id;
      made.job_id = response.getHeader("Rushes-Job") ?? made.job_id;
    },
    onUploadUrlAvailable: () => told.place(upload.url),
    onProgress: (sent) => told.progress(sent),
    onSuccess: () => told.done(made),
    onError: (error) => told.refused(problemOf(error)),
  });
  upload.start();
  return { stop: () => upload.abort(), cancel: () => upload.abort(true).catch(() => {}) };
}

/** Whether it may go better the next time: the server is away or busy, or has another offset. */
const isPassing = ({ status, code }) => !status || status >= 500 || status === 423 || status === 429 || (status === 409 && code === "CONFLICT");

function problemOf(error) {
  const text = error.originalResponse?.getBody();
  try {
    return new Problem(JSON.parse(text));
  } catch {
    return new Problem({ code: "UPLOAD_FAILED", status: error.originalResponse?.getStatus() ?? 0, detail: error.message.split(",")[0] });
  }
}
