// System: whether all is well, how much room there is, what runs here.

import { html, useEffect } from "../lib.js";
import { may } from "../api.js";
import { counts, recount } from "../store.js";
import { bytes, count, percent, sentence } from "../format.js";
import { CopyCommands, curl } from "../parts/copy.js";
import { Note } from "../parts/problem.js";
import { Icon } from "../parts/icon.js";
import { Status } from "../parts/status.js";
import words from "../words/system.js";

export default function System() {
  useEffect(() => {
    recount("health");
  }, []);
  const health = counts.health.value;
  return html`
    <div class="page-head"><h1>${words.title}</h1>${health && html`<p>${words.version(health.version)}</p>`}</div>
    ${!may("admin") ? html`<${Note} icon="user" title=${words.forAdmins.title}><p>${words.forAdmins.text}</p><//>` : health && html`<${Health} health=${health} />`}
  `;
}

const Health = ({ health }) => html`
  <div class="stack">
    <${Verdict} problems=${health.problems} />
    <div class="tiles">
      <${Storage} storage=${health.storage} />
      <${Processing} processing=${health.processing} />
      <${Facts} title=${words.database} facts=${{
        [words.dialect]: words.dialects[health.database.dialect] ?? health.database.dialect,
        [words.schema]: health.database.schema_version,
        [words.answered]: words.ms(health.database.answered_in_ms),
        [words.lag]: words.ms(health.database.feed_lag_ms),
      }} />
      <${Facts} title=${words.machine} facts=${{
        [words.ffmpeg]: health.machine.ffmpeg ? `${health.machine.ffmpeg} (${health.machine.ffmpeg_source})` : words.missing,
        [words.sandbox]: words.sandboxes[health.machine.sandbox] ?? health.machine.sandbox,
        [words.ocr]: health.machine.reads_text ? words.yes : words.no,
        [words.rushes]: health.version,
      }} />
    </div>
    <${Loops} loops=${health.loops} />
    <${CopyCommands} commands=${{ CLI: "rushes doctor", curl: curl("GET", "/health") }} />
  </div>
`;

const Verdict = ({ problems }) => problems.length
  ? problems.map((problem) => html`<${Note} look="warning" title=${sentence(problem)}><p>${words.next[problem] ?? words.nextDefault}</p><//>`)
  : html`<div class="note is-well"><${Icon} name="completed" /><h2>${words.well}</h2><p>${words.wellText}</p></div>`;

function Storage({ storage }) {
  const used = storage.total_bytes - storage.free_bytes;
  const share = (100 * used) / Math.max(1, storage.total_bytes);
  return html`
    <section class="panel" aria-labelledby="storage">
      <header><h2 id="storage">${words.storage}</h2></header>
      <div class="in stack">
        <p class="figure">${bytes(storage.free_bytes)}<small>${words.free}</small></p>
        <span class="bar is-ink" role="meter" aria-label=${words.used} aria-valuenow=${Math.round(share)} aria-valuemin="0" aria-valuemax="100" style=${{ "--p": share }}></span>
        <${List} facts=${{ [words.used]: `${bytes(used)}, ${percent(share)}`, [words.total]: bytes(storage.total_bytes), [words.reserve]: bytes(storage.reserve_bytes) }} />
      </div>
    </section>
  `;
}

function Processing({ processing }) {
  const workers = Object.values(processing.workers).reduce((sum, n) => sum + n, 0) - (processing.workers.offline ?? 0);
  return html`
    <section class="panel" aria-labelledby="work">
      <header><h2 id="work">${words.work}</h2></header>
      <div class="in stack">
        <p class="figure">${count(processing.tasks_running)}<small>${words.running}</small></p>
        <p class="pipe">${Object.entries(processing.jobs).map(([status, n]) => html`<${Status} status=${status} word=${words.jobs(count(n), status)} />`)}</p>
        <${List} facts=${{
          [words.workers]: count(workers),
          [words.ready]: Object.entries(processing.tasks_ready).map(([lane, n]) => `${lane} ${count(n)}`).join(", ") || words.none,
        }} />
      </div>
    </section>
  `;
}

const Facts = ({ title, facts }) => html`
  <section class="panel"><header><h2>${title}</h2></header><div class="in"><${List} facts=${facts} /></div></section>
`;

const List = ({ facts }) => html`<dl class="kv">${Object.entries(facts).map(([name, value]) => html`<dt>${name}</dt><dd class="num">${value}</dd>`)}</dl>`;

const Loops = ({ loops }) => html`
  <section class="panel" aria-labelledby="loops">
    <header><h2 id="loops">${words.loops}</h2><span class="faint">${words.loopsText}</span></header>
    <ul class="loops">
      ${loops.map((loop) => html`
        <li><b>${words.loopNames[loop.name] ?? loop.name}</b><span class="faint">${loop.leader}</span><${Status} status=${loop.is_led ? "active" : "warning"} word=${loop.is_led ? words.led : words.notLed} /></li>
      `)}
    </ul>
  </section>
`;
