// The jobs that have worked on the video, the newest first: one for every version of it.

import { html, useEffect } from "../lib.js";
import { refresh, row } from "../store.js";
import { percent, short } from "../format.js";
import { url } from "../root.js";
import { Bar } from "../parts/progress.js";
import { Status } from "../parts/status.js";
import { Time } from "../parts/time.js";
import all from "../words/video.js";

const words = all.jobs;

export function Jobs({ video }) {
  const versions = [...(video.versions ?? [])].reverse();
  if (!versions.length && video.job_id) versions.push({ version: 1, job_id: video.job_id, created_at: video.created_at });
  if (!versions.length) return html`<p class="dim">${words.none}</p>`;
  return html`<ul class="lines">${versions.map((one) => html`<${Line} key=${one.job_id} version=${one} />`)}</ul>`;
}

function Line({ version }) {
  const job = row("jobs", version.job_id).value;
  useEffect(() => void refresh("jobs", version.job_id), [version.job_id]);
  return html`
    <li>
      <a href=${url(`/jobs/${version.job_id}`)}><b>${words.version(version.version)}</b> <code>${short(version.job_id)}</code></a>
      <span>
        ${job && html`<${Status} status=${job.status} word=${job.status === "running" ? percent(job.progress.percent) : undefined} />`}
        ${job?.status === "running" && html`<${Bar} value=${job.progress.percent} label=${words.version(version.version)} />`}
      </span>
      <span class="dim">${job?.error}</span>
      <span class="dim"><${Time} at=${version.published_at ?? version.created_at} /></span>
    </li>
  `;
}
