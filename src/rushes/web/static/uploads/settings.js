// What is to be made of new files; kept in this browser.

import { signal } from "../lib.js";

const KEY = "rushes.upload";
const DEFAULTS = { text: "true", qualities: "", languages: "en", priority: "normal", tags: "" };

export const settings = signal({ ...DEFAULTS, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") });

export function set(changes) {
  settings.value = { ...settings.value, ...changes };
  localStorage.setItem(KEY, JSON.stringify(settings.value));
}

/** The settings as tus metadata: what is empty is left to the server. */
export const current = () =>
  Object.fromEntries(Object.entries(settings.value).map(([name, value]) => [name, value.trim()]).filter(([, value]) => value));
