// How far somebody has watched each video, in this browser.

const KEY = (id) => `rushes.seen.${id}`;

/** Return the percent that were watched; null: none. */
export function seen(id) {
  const value = Number(localStorage.getItem(KEY(id)));
  return value > 0 && value < 97 ? value : null;
}

export const markSeen = (id, percent) => localStorage.setItem(KEY(id), percent.toFixed(1));
