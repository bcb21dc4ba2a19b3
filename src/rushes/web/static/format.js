// Numbers and times as people read them. Pure, but for the language of the browser.

import words from "./words/format.js";

const language = document.documentElement.lang;
const number = new Intl.NumberFormat(language);
const decimal = new Intl.NumberFormat(language, { maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
const ordinals = new Intl.PluralRules(language, { type: "ordinal" });
const plurals = new Intl.PluralRules(language);
const clockTime = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const wholeTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const wholeDay = new Intl.DateTimeFormat(language, { weekday: "long", day: "numeric", month: "long" });

const STEPS = [["second", 60], ["minute", 60], ["hour", 24], ["day", 30], ["month", 12], ["year", Infinity]];
const DAY_MS = 86_400_000;

/** 1284 -> "1,284" */
export const count = (n) => number.format(n);

/** One of the forms of a word: noun(1, {one: "video", other: "videos"}) -> "video" */
export const noun = (n, forms) => forms[plurals.select(n)] ?? forms.other;

/** The same with its number: "1 video" */
export const plural = (n, forms) => `${count(n)} ${noun(n, forms)}`;

/** 2 -> "2nd" */
export const ordinal = (n) => `${n}${words.ordinals[ordinals.select(n)]}`;

/** 62.4 -> "62 %"; never 100 before the end. */
export const percent = (value, isDone = false) => `${Math.min(Math.floor(value), isDone ? 100 : 99)} %`;

/** 751000 -> "12:31", 4470000 -> "1:14:30" */
export function duration(ms) {
  const seconds = Math.round(ms / 1000);
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, "0"));
  const hours = Math.floor(seconds / 3600);
  return (hours ? [hours, ...parts] : parts).join(":");
}

/** 62400 -> "01:02.400" */
export const timecode = (ms) => `${duration(Math.floor(ms / 1000) * 1000)}.${String(Math.floor(ms % 1000)).padStart(3, "0")}`;

/** 4200000000 -> "4.2 GB" */
export function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  const power = n < 1000 ? 0 : Math.min(Math.floor(Math.log10(n) / 3), units.length - 1);
  return `${decimal.format(n / 1000 ** power)} ${units[power]}`;
}

/** 12100000 -> "12.1 MB/s" */
export const speed = (bytesPerSecond) => `${bytes(bytesPerSecond)}/s`;

/** A length of time in words: 290 -> "5 min", 31 -> "31 s" */
export function span(seconds) {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 2 * 86_400 ? `${decimal.format(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** 290 -> "about 5 min"; null: nothing can be said. */
export const eta = (seconds) => (seconds == null ? null : words.about(span(seconds)));

/** How long ago, or how soon: "3 min. ago" */
export function ago(time, now = Date.now()) {
  let value = (new Date(time) - now) / 1000;
  for (const [unit, size] of STEPS) {
    if (Math.abs(value) < size) return relative.format(Math.round(value), unit);
    value /= size;
  }
}

export const clock = (time) => clockTime.format(new Date(time));
export const moment = (time) => wholeTime.format(new Date(time));

/** The day of a time, as a heading: {name: "Today", date: "Sunday 15 November"} */
export function day(time, now = new Date()) {
  const start = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());
  const then = new Date(time);
  const days = Math.round((start(now) - start(then)) / DAY_MS);
  return { key: start(then).getTime(), name: days < 2 ? capital(relative.format(-days, "day")) : null, date: wholeDay.format(then) };
}

/** What a server said, as a sentence: "the file has no index" -> "The file has no index." */
export const sentence = (text) => text && `${capital(text)}${/[.!?…]$/.test(text) ? "" : "."}`;

export const capital = (text) => text && text[0].toLocaleUpperCase(language) + text.slice(1);

/** The name of a picture's size by its shorter side: 2160 -> "4K", 1080 -> "HD" */
export function sharpness(width, height) {
  const side = Math.min(width ?? 0, height ?? 0);
  return side >= 2160 ? "4K" : side >= 720 ? "HD" : side ? `${side}p` : null;
}

/** The last characters of an id: what lists show. */
export const short = (id) => id.slice(-8);

/** What people write for a moment of a film, in milliseconds: "62.5", "1:02.5", "1m02s"; null: none. */
export function parseTime(text) {
  const found = /^\s*(?:(?:(\d+)[:h])?(\d+)[:m])?(\d+(?:[.,]\d+)?)s?\s*$/.exec(text);
  if (!found) return null;
  const [, hours = 0, minutes = 0, seconds] = found;
  return Math.round((Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds.replace(",", "."))) * 1000);
}
