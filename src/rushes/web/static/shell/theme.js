// Light, dark, or what the system says; theme.js beside the shell sets it before the first paint.

import { signal } from "../lib.js";

const KEY = "rushes.theme";

export const chosenTheme = signal(document.documentElement.dataset.theme ?? "system");

export function setTheme(name) {
  chosenTheme.value = name;
  if (name === "system") {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(KEY, name);
    document.documentElement.dataset.theme = name;
  }
}
