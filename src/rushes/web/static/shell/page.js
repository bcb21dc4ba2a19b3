// The page that the address names: its module is loaded, then shown; the old one stays until then.

import { html, signal, useEffect, useErrorBoundary, useLayoutEffect, useRef } from "../lib.js";
import { go, match, place } from "../router.js";
import { routes } from "../routes.js";
import { Problem } from "../api.js";
import { Empty } from "../parts/empty.js";
import { ProblemNote } from "../parts/problem.js";
import words from "../words/shell.js";

const components = signal({});

/** The route of a path, with its `params`; null: there is no such page. */
export function routeOf(path) {
  for (const route of routes) {
    const params = match(route.path, path);
    if (params) return { ...route, params };
  }
  return null;
}

/** Name the page in the window's title. */
export function useTitle(text, use = useEffect) {
  use(() => {
    document.title = text ? words.title(text) : words.name;
  }, [text]);
}

/** What is in <main>. */
export function Page() {
  const { path, query } = place.value;
  const route = routeOf(path);
  const shown = useRef(null);
  useEffect(() => {
    if (route) load(route);
  }, [route?.name]);
  useFocusOnChange(path);
  const component = route && components.value[route.name];
  if (component) shown.current = { component, name: route.name, params: route.params, query };
  useTitle(words.pages[route && shown.current?.name], useLayoutEffect); // before that of the page itself, which knows better
  if (!route) return html`<${NoSuchPage} />`;
  return shown.current && html`<${Guarded} key=${shown.current.name} ...${shown.current} />`;
}

async function load({ name, load: fetchModule }) {
  const { default: component } = await fetchModule().catch(() => ({ default: Unreachable }));
  components.value = { ...components.value, [name]: component };
}

function Unreachable() {
  throw new Problem({ code: "UNREACHABLE", detail: words.away, hint: words.awayHint });
}

/** A page that breaks says so, and takes nothing with it. */
function Guarded({ component, params, query }) {
  const [error] = useErrorBoundary();
  if (error) {
    const problem = error instanceof Problem ? error : new Problem({ code: "PAGE_BROKEN", detail: words.broken, hint: String(error) });
    return html`<${ProblemNote} problem=${problem} again=${() => location.reload()} />`;
  }
  return html`<${component} params=${params} query=${query} />`;
}

/** A screen reader begins at the top of a new page, as it does after a reload. */
function useFocusOnChange(path) {
  useLayoutEffect(() => {
    if (Page.path !== undefined && Page.path !== path) document.getElementById("main")?.focus({ preventScroll: true });
    Page.path = path;
  }, [path]);
}

const NoSuchPage = () => html`
  <${Empty} title=${words.nothing.title} text=${words.nothing.text}>
    <button class="btn primary" onClick=${() => go("/")}>${words.nothing.action}</button>
  <//>
`;
