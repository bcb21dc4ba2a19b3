// What failed, by cause: the sentence, how often, an example, and the next step for all of them.

import { html, useEffect, useSignal } from "../lib.js";
import { get, may, post, search } from "../api.js";
import { listen, onRenew } from "../live.js";
import { recount } from "../store.js";
import { capital, clock, count, plural, sentence } from "../format.js";
import { url } from "../root.js";
import { CopyCommands, curl } from "../parts/copy.js";
import { Empty } from "../parts/empty.js";
import { Icon } from "../parts/icon.js";
import { ErrorCard, ProblemNote } from "../parts/problem.js";
import { Spark } from "../parts/spark.js";
import { say, sayProblem } from "../parts/toast.js";
import { Time } from "../parts/time.js";
import words from "../words/failed.js";

const [AGAIN_MS, LINES] = [1000, 12];
const SHOWN = 3; // logs that are open without being asked for
const HOT = 2; // hours: what failed then may still be going on
const CHANGES = new Set(["job.failed", "job.requeued", "job.completed", "job.killed"]);

export default function Failed() {
  const [groups, problem, read] = useGroups();
  if (problem) return html`<${Head} /><${ProblemNote} problem=${problem} again=${read} />`;
  if (!groups) return html`<${Head} />`;
  const jobs = groups.reduce((sum, group) => sum + group.jobs, 0);
  if (!jobs) return html`<${Head} /><${Empty} title=${words.empty.title} text=${words.empty.text}><a class="btn" href=${url("/jobs")}>${words.empty.action}</a><//>`;
  return html`
    <${Head} text=${words.summary(plural(jobs, words.jobs), plural(groups.length, words.causes))} />
    <div class="stack">${groups.map((group, at) => html`<${Group} key=${`${group.error_code}/${group.step}`} group=${group} at=${at} onDone=${read} />`)}</div>
    <${Commands} group=${groups[0]} />
  `;
}

const Head = ({ text }) => html`<div class="page-head"><h1>${words.title}</h1>${text && html`<p class="num">${text}</p>`}</div>`;

/** The groups, read again when a job has failed or was tried again, at most once a second. */
function useGroups() {
  const groups = useSignal(null);
  const problem = useSignal(null);
  const read = async () => {
    try {
      groups.value = (await get("/failed/groups")).items;
      problem.value = null;
    } catch (refusal) {
      problem.value = refusal;
    }
  };
  useEffect(() => {
    let timer = null;
    const soon = () => (timer ??= setTimeout(() => ((timer = null), read()), AGAIN_MS));
    read();
    const stops = [listen((events) => events.some((event) => CHANGES.has(event.type)) && soon()), onRenew(read)];
    return () => {
      clearTimeout(timer);
      stops.forEach((stop) => stop());
    };
  }, []);
  return [groups.value, problem.value, read];
}

function Group({ group, at, onDone }) {
  const { error_code, step, jobs } = group;
  const again = async () => {
    try {
      const { items } = await post("/failed/groups/retry", { error_code, step });
      say(words.retried(plural(items.length, words.jobs)), { icon: "retry" });
      if (items.length < jobs) say(words.refused(count(jobs - items.length)), { icon: "warning" });
    } catch (problem) {
      sayProblem(problem);
    }
    recount("failed");
    onDone();
  };
  const recent = group.hours.reduce((sum, n) => sum + n, 0);
  const seen = html`
    ${recent > 0 && html`<${Spark} values=${group.hours} hot=${HOT} label=${words.recent(plural(recent, words.jobs), group.hours.length)} />`}
    <p class="num"><b>${plural(jobs, words.jobs)}</b>${words.seen(clock(group.first_at), clock(group.last_at))} <${Time} at=${group.last_at} /></p>
  `;
  const about = html`<span class="dim">${step}</span>${!group.retryable && html`<span class="tag">${words.permanent}</span>`}`;
  return html`
    <${ErrorCard}
      code=${error_code} about=${about} title=${capital(group.error)} hint=${sentence(group.hint ?? words.noHint)} seen=${seen}
      more=${html`<div class="next"><b>${words.example}</b><p><a href=${url(`/jobs/${group.newest}`)} dir="auto">${group.label ?? group.newest}</a></p><a class="btn quiet" href=${url(`/jobs${search({ status: "failed", error_code, step })}`)}>${words.all(count(jobs))}</a></div><${Excerpt} id=${group.newest} isShown=${at < SHOWN} />`}
    >
      ${may("write") && html`<button class=${at === 0 ? "btn primary" : "btn"} onClick=${again}><${Icon} name="retry" />${words.retry(jobs, count(jobs))}</button>`}
    <//>
  `;
}

/** The end of the newest one's log: at once for what failed most, else when somebody asks. */
function Excerpt({ id, isShown }) {
  const lines = useSignal(null);
  const read = async () => {
    if (lines.value) return;
    const { items } = await get(`/jobs/${id}/logs`, { last: LINES }).catch(() => ({ items: [] }));
    lines.value = items.map(said).filter(Boolean).slice(-LINES);
  };
  useEffect(() => void (isShown && read()), [id, isShown]);
  return html`
    <details class="excerpt" open=${isShown && lines.value?.length > 0} onToggle=${({ currentTarget }) => currentTarget.open && read()}>
      <summary>${words.log}</summary>
      <pre class="log" tabindex="0">${lines.value?.length ? lines.value.join("\n") : words.noLog}</pre>
    </details>
  `;
}

/** A line of the log, or what a program complained of. */
const said = ({ type, message, program, stderr, error }) => (type === "log" ? message : (stderr || error) && `${program}: ${stderr || error}`);

const Commands = ({ group: { error_code, step } }) => html`
  <section class="section" aria-labelledby="terminal">
    <header><h2 id="terminal">${words.terminal}</h2></header>
    <${CopyCommands} commands=${{
      CLI: `rushes jobs list --status failed\nrushes jobs retry --code ${error_code}`,
      curl: `${curl("GET", "/failed/groups")}\n${curl("POST", "/failed/groups/retry", { error_code, step })}`,
      Python: `from rushes import Client\n\nwith Client("${location.origin}", key="…") as rushes:\n    rushes.jobs.retry_failed(${JSON.stringify(error_code)})`,
    }} />
  </section>
`;
