// The API, from its own description: every request with its parameters, its body and a command.

import { html, useEffect, useSignal } from "../lib.js";
import { Problem } from "../api.js";
import { url } from "../root.js";
import { CopyCommands, curl } from "../parts/copy.js";
import { ProblemNote } from "../parts/problem.js";
import words from "../words/docs.js";

const METHODS = ["get", "post", "put", "patch", "delete"];

export default function Docs() {
  const api = useSignal(null);
  const problem = useSignal(null);
  const wanted = useSignal("");
  const read = async () => {
    try {
      const answer = await fetch(url("/openapi.json"));
      if (!answer.ok) throw new Error(answer.statusText);
      api.value = await answer.json();
      problem.value = null;
    } catch {
      problem.value = new Problem({ code: "UNREACHABLE", detail: words.away, hint: words.awayHint });
    }
  };
  useEffect(() => {
    read();
  }, []);
  return html`
    <div class="page-head">
      <h1>${words.title}</h1><p>${words.lead}</p>
      <div class="end"><a class="btn" href=${url("/openapi.json")} download="openapi.json">${words.download}</a></div>
    </div>
    ${problem.value && html`<${ProblemNote} problem=${problem.value} again=${read} />`}
    <div class="field apifilter"><label for="wanted">${words.filter}</label><input class="input" id="wanted" type="search" onInput=${(event) => (wanted.value = event.target.value)} /></div>
    ${api.value && html`<${Groups} api=${api.value} wanted=${wanted.value.toLowerCase()} />`}
  `;
}

/** All requests, under the tag that they have. */
function Groups({ api, wanted }) {
  const groups = new Map();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((one) => methods[one])) {
      const asked = { path, method, ...methods[method] };
      if (!`${method} ${path} ${asked.description ?? ""}`.toLowerCase().includes(wanted)) continue;
      const [tag = words.other] = asked.tags ?? [];
      groups.set(tag, [...(groups.get(tag) ?? []), asked]);
    }
  }
  if (!groups.size) return html`<p class="dim">${words.none}</p>`;
  return [...groups].map(([tag, requests]) => html`
    <section class="section" key=${tag} aria-labelledby=${`tag-${tag}`}>
      <header><h2 id=${`tag-${tag}`}>${words.tags[tag] ?? tag}</h2></header>
      <div class="panel">${requests.map((one) => html`<${Request} key=${one.operationId} api=${api} asked=${one} />`)}</div>
    </section>
  `);
}

function Request({ api, asked }) {
  const isOpen = useSignal(false);
  const first = (asked.description ?? asked.summary ?? "").split("\n")[0];
  return html`
    <details class="request" onToggle=${(event) => (isOpen.value = event.currentTarget.open)}>
      <summary><code class="method">${asked.method.toUpperCase()}</code><code class="path">${asked.path}</code><span class="dim">${withCode(first)}</span></summary>
      ${isOpen.value && html`<${Detail} api=${api} asked=${asked} />`}
    </details>
  `;
}

function Detail({ api, asked }) {
  const [type, content] = Object.entries(asked.requestBody?.content ?? {})[0] ?? [];
  const fields = content && fieldsOf(api, content.schema);
  const answers = Object.entries(asked.responses ?? {}).filter(([status]) => status < 400);
  return html`
    <div class="in stack">
      <p>${withCode(asked.description)}</p>
      ${asked.parameters?.length > 0 && html`<h3>${words.parameters}</h3><${Fields} fields=${asked.parameters.map((one) => ({ ...one, type: typeOf(one.schema), place: words.places[one.in] }))} />`}
      ${fields?.length > 0 && html`<h3>${words.body} <small class="faint">${type}</small></h3><${Fields} fields=${fields} />`}
      ${answers.map(([status, { content: told }]) => html`<p class="dim">${words.answers(status)} <code>${typeOf(Object.values(told ?? {})[0]?.schema)}</code></p>`)}
      <${CopyCommands} commands=${{ curl: curl(asked.method.toUpperCase(), asked.path.replace(/^\/api/, ""), type === "application/json" ? exampleOf(fields) : undefined) }} />
    </div>
  `;
}

/** A text with what stands between backticks as code. */
const withCode = (text = "") => text.split("`").map((part, at) => (at % 2 ? html`<code>${part}</code>` : part));

const Fields = ({ fields }) => html`
  <dl class="kv">${fields.map(({ name, type, place, required, description }) => html`
    <dt><code>${name}</code>${required && html`<span class="tag">${words.required}</span>`}</dt><dd>${[type, place, description].filter(Boolean).join(" · ")}</dd>
  `)}</dl>
`;

const resolve = (api, schema) => (schema?.$ref ? api.components.schemas[schema.$ref.split("/").at(-1)] : schema);

function fieldsOf(api, schema) {
  const found = resolve(api, schema?.anyOf?.find((one) => one.$ref) ?? schema);
  return Object.entries(found?.properties ?? {}).map(([name, one]) => ({
    name, type: typeOf(one), required: found.required?.includes(name), description: one.description,
  }));
}

/** A schema in a few words: "string", "list of Video", "newest | oldest". */
function typeOf(schema) {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.const) return schema.const;
  if (schema.anyOf) return schema.anyOf.map(typeOf).filter((one) => one !== "null").join(" | ");
  if (schema.type === "array") return words.listOf(typeOf(schema.items));
  return schema.format ? `${schema.type} (${schema.format})` : schema.type ?? "";
}

const EXAMPLES = { string: "…", integer: 1, number: 1, boolean: true };

const exampleOf = (fields) => Object.fromEntries((fields ?? []).filter((one) => one.required).map(({ name, type }) => [name, EXAMPLES[type] ?? "…"]));
