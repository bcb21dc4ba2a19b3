// What is asked: it stands in the address, so that a search can be sent to somebody.

import { search } from "../api.js";
import { quote } from "../parts/copy.js";

export const MODES = ["words", "exact", "substring", "fuzzy"];
export const SOURCES = ["screen", "subtitle", "embedded", "chapter", "title", "tag", "file"];
export const SPANS = { "1d": 1, "7d": 7, "30d": 30 };
export const HAS = { mention: "mention:", hashtag: "hashtag:", url: "url:", number: "number:", phone: "phone:" };
const DAY_MS = 86_400_000;

/** The address of the page -> the parameters of /api/search. */
export function questionOf(query) {
  return {
    q: query.q?.trim() ?? "",
    mode: MODES.includes(query.mode) && query.mode !== "words" ? query.mode : null,
    source: SOURCES.includes(query.source) ? query.source : null,
    lang: query.lang ?? null,
    min_confidence: Number(query.conf) > 0 ? Math.min(Number(query.conf), 1) : null,
    video: query.video ?? null,
    from: query.since in SPANS ? since(SPANS[query.since]) : null,
  };
}

/** The beginning of a day, so that the same question has the same address for a while. */
const since = (days) => new Date(Math.floor((Date.now() - days * DAY_MS) / 3_600_000) * 3_600_000).toISOString();

/** Put an entity such as "url:" into a question, or take it out. */
export function toggled(text, word) {
  const parts = text.split(/\s+/).filter(Boolean);
  return (parts.includes(word) ? parts.filter((one) => one !== word) : [...parts, word]).join(" ");
}

/** Put a suggestion in the place of the word that is being typed. */
export const completed = (text, word) => text.replace(/[^\s"]*$/, (typed) => (typed.startsWith("-") ? "-" : "") + word);

/** The page of a video at a moment that was found. */
export const addressOf = (hit, q) => `/v/${hit.asset_id}${search({ t: hit.start_ms / 1000, end: hit.end_ms / 1000, q })}`;

/** The same on the command line. */
export function commandOf({ q, mode, source, lang, min_confidence, video }, since) {
  const options = [
    mode && `--${mode}`, source && `--source ${source}`, lang && `--lang ${quote(lang)}`, min_confidence && `--min-conf ${min_confidence}`,
    video && `--video ${quote(video)}`, since && `--since ${since}`,
  ].filter(Boolean);
  return ["rushes search", ...options, q.startsWith("-") ? `-- ${quote(q)}` : quote(q)].join(" ");
}
