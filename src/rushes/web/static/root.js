// Where the server is mounted. Every address that the page makes goes through here.

export const root = document.documentElement.dataset.root;

/** The address of a page or of the API, such as url("/api/me"). */
export const url = (path) => root + path;

/** The address of a file beside this one, such as file("icons.svg"). */
export const file = (name) => new URL(name, import.meta.url).href;

/** The path below the root, or null for an address that is not ours. */
export function pathOf(address) {
  const { origin, pathname } = new URL(address, location.href);
  if (origin !== location.origin || !(pathname + "/").startsWith(root + "/")) return null;
  return pathname.slice(root.length) || "/";
}
