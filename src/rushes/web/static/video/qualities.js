// Every quality of the newest version, how far it is, and how to make some of it anew.

import { html, useSignal } from "../lib.js";
import { may, post } from "../api.js";
import { refresh } from "../store.js";
import { count, percent } from "../format.js";
import { url } from "../root.js";
import { CopyCommands, curl } from "../parts/copy.js";
import { Icon } from "../parts/icon.js";
import { Bar } from "../parts/progress.js";
import { Status } from "../parts/status.js";
import { Time } from "../parts/time.js";
import { say, sayProblem } from "../parts/toast.js";
import all from "../words/video.js";

const words = all.qualities;

export function Qualities({ video }) {
  const qualities = video.versions?.at(-1)?.qualities ?? [];
  return html`
    ${qualities.length ? html`
      <div class="tablewrap">
        <table class="table qualities" role="table">
          <thead role="rowgroup">
            <tr role="row">${["name", "state", "segments"].map((name) => html`<th role="columnheader">${words[name]}</th>`)}<th role="columnheader" class="opth">${words.picture}</th><th role="columnheader" class="opth">${words.done}</th></tr>
          </thead>
          <tbody role="rowgroup">${qualities.map((one) => html`<${Line} key=${one.quality} quality=${one} />`)}</tbody>
        </table>
      </div>
    ` : html`<p class="dim">${words.none}</p>`}
    ${may("write") && video.playable_at && html`<${Again} video=${video} />`}
  `;
}

const Line = ({ quality }) => html`
  <tr role="row">
    <td role="cell" class="what">${quality.quality}</td>
    <td role="cell">
      <${Status} status=${quality.status} word=${quality.status === "in_progress" ? percent(quality.progress_percent) : words.status[quality.status]} />
      ${quality.status === "in_progress" && html`<${Bar} value=${quality.progress_percent} label=${quality.quality} />`}
      ${quality.error_message}
    </td>
    <td role="cell">${words.of(count(quality.segments_completed), count(quality.segments_total))}</td>
    <td role="cell" class="opt">${all.size(quality.width, quality.height)}</td>
    <td role="cell" class="opt"><${Time} at=${quality.completed_at} /></td>
  </tr>
`;

function Again({ video }) {
  const chosen = useSignal({ missing_only: false, delete_transcription: false });
  const path = `/videos/${video.asset_id}/retranscode`;
  const wish = Object.fromEntries(Object.entries(chosen.value).filter(([, isOn]) => isOn));
  const make = async () => {
    try {
      const { job_id } = await post(path, wish);
      say(words.asked, { action: { label: words.open, href: url(`/jobs/${job_id}`) } });
      refresh("videos", video.asset_id);
    } catch (problem) {
      sayProblem(problem);
    }
  };
  const check = (name, label) => html`
    <label class="check"><input type="checkbox" checked=${chosen.value[name]} onChange=${(event) => (chosen.value = { ...chosen.value, [name]: event.target.checked })} />${label}</label>
  `;
  const flags = [wish.missing_only && " --missing-only", wish.delete_transcription && " --text"].filter(Boolean).join("");
  return html`
    <div class="again">
      <p class="acts"><button class="btn" onClick=${make}><${Icon} name="retry" />${words.again}</button>${check("missing_only", words.missing)}${check("delete_transcription", words.text)}</p>
      <${CopyCommands} commands=${{ CLI: `rushes retranscode ${video.asset_id}${flags}`, curl: curl("POST", path, wish) }} />
    </div>
  `;
}
