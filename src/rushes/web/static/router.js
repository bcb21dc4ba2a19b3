// Addresses: real links and the browser's own history, without a reload between two pages.

import { signal } from "./lib.js";
import { pathOf, root } from "./root.js";
import { search } from "./api.js";

const here = () => ({ path: pathOf(location.href), query: Object.fromEntries(new URLSearchParams(location.search)) });

/** Where the page is: `path` below the root, and the `query`. */
export const place = signal(here());

/** Go to a path such as "/jobs?status=failed". */
export function go(to, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", root + to);
  place.value = here();
  if (!replace) scrollTo(0, 0);
}

/** Change some of the query and stay on the page; null takes a name out. */
export function setQuery(changes) {
  const query = { ...place.value.query, ...changes };
  go(place.value.path + search(query), { replace: true });
}

/** Return the values of a pattern such as "/jobs/:id" in a path, or null. */
export function match(pattern, path) {
  const names = [];
  const source = pattern.replace(/:(\w+)/g, (_, name) => (names.push(name), "([^/]+)"));
  const found = new RegExp(`^${source}/?$`).exec(path);
  return found && Object.fromEntries(names.map((name, at) => [name, decoded(found[at + 1])]));
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % in an address that somebody typed
  }
}

/** A path that a link may lead to after a login: one of ours, whatever the address bar says. */
export function safeNext(text) {
  if (!text || !/^\/(?![/\\])/.test(text)) return "/";
  return pathOf(root + text) === null ? "/" : text;
}

addEventListener("popstate", () => (place.value = here()));

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
  if (!link || !isPlain || event.defaultPrevented || link.target || link.hasAttribute("download")) return;
  const path = pathOf(link.href);
  const address = new URL(link.href);
  if (path === null || /^\/(api|media|static|openapi)/.test(path)) return;
  if (address.hash && address.pathname === location.pathname) return;
  event.preventDefault();
  go(path + address.search + address.hash);
});
