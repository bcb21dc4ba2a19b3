// The API of the server: requests as functions, refusals as a Problem with a code and a next step.

import { signal } from "./lib.js";
import { url } from "./root.js";
import words from "./words/shell.js";

/** Who is logged in; null: nobody; undefined: nobody has asked yet. */
export const me = signal(undefined);

export const may = (scope) => Boolean(me.value?.scopes.includes(scope));

/** A refusal, as RFC 9457 has it. `code` is stable, `hint` says what to do next. */
export class Problem extends Error {
  constructor(told) {
    super(told.detail ?? told.title);
    Object.assign(this, { code: told.code, status: told.status, hint: told.hint ?? null, told });
  }
}

/** What a Problem is made of when the server cannot be reached. */
export const AWAY = { code: "UNREACHABLE", status: 0, detail: words.away, hint: words.awayHint };

/** Send a request and return its answer. Raises Problem, or AbortError if `signal` is aborted. */
export async function call(method, path, { query, body, headers, signal } = {}) {
  const asked = { Accept: "application/json", ...headers };
  if (body !== undefined) asked["Content-Type"] = "application/json";
  if (method !== "GET" && me.value?.csrf) asked["X-CSRF-Token"] = me.value.csrf;
  let answer;
  try {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    answer = await fetch(url(`/api${path}${search(query)}`), { method, headers: asked, body: sent, signal });
  } catch (error) {
    throw error.name === "AbortError" ? error : new Problem(AWAY);
  }
  if (answer.ok) return answer.status === 204 ? null : await answer.json();
  const problem = await problemOf(answer);
  if (problem.status === 401 && !path.startsWith("/login")) me.value = null;
  throw problem;
}

export const get = (path, query, signal) => call("GET", path, { query, signal });
export const post = (path, body) => call("POST", path, { body });
export const patch = (path, body, headers) => call("PATCH", path, { body, headers });
export const put = (path, body) => call("PUT", path, { body });
export const remove = (path, query) => call("DELETE", path, { query });

const KNOWN = "rushes.known";

/** Ask who is logged in. A browser in which nobody ever was need not ask. */
export async function whoAmI() {
  if (!localStorage.getItem(KNOWN)) return (me.value = null);
  try {
    return enter(await get("/me"));
  } catch (problem) {
    if (problem.status !== 401) throw problem;
    return (me.value = null);
  }
}

/** Begin a session, with {name, password} or with the {token} of a link. */
export const logIn = async (body) => enter(await post(body.token ? "/login/link" : "/login", body));

function enter(found) {
  localStorage.setItem(KNOWN, "1");
  return (me.value = found);
}

export async function logOut() {
  await post("/logout");
  localStorage.removeItem(KNOWN);
  location.assign(url("/login")); // nothing of the old session stays in memory
}

/** A query as text; a list is a name that is given more than once, and null is left out. */
export function search(query = {}) {
  const pairs = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const text = new URLSearchParams(pairs.filter(([, value]) => value != null && value !== "")).toString();
  return text && `?${text}`;
}

async function problemOf(answer) {
  try {
    return new Problem(await answer.json());
  } catch {
    return new Problem({ code: `HTTP_${answer.status}`, status: answer.status, detail: answer.statusText });
  }
}
