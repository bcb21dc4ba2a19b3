// The title of a video, with what can be done with all of it.

import { html, useComputed } from "../lib.js";
import { may, post } from "../api.js";
import { keep } from "../store.js";
import { clock, day, duration, moment, plural } from "../format.js";
import { root, url } from "../root.js";
import { copy, CopyCommands, curl } from "../parts/copy.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { Note } from "../parts/problem.js";
import { say, sayProblem } from "../parts/toast.js";
import words from "../words/video.js";

export function Head({ video, player, texts }) {
  const second = useComputed(() => Math.floor(player.time.value));
  const link = () => `${location.origin}${root}/v/${video.asset_id}?t=${second.value}`;
  const download = url(`/api/videos/${video.asset_id}/download`);
  return html`
    <div class="vtitle">
      <div>
        <h1 dir="auto">${video.title}</h1>
        <p class="num">${factsOf(video, texts.all.value.length).join(" · ")}</p>
      </div>
      <div class="acts">
        <button class="btn" onClick=${() => copy(link())}><${Icon} name="link" />${words.copyAt(duration(second.value * 1000))}</button>
        <a class="btn" href=${download} download><${Icon} name="download" />${words.download}</a>
        <${Menu}
          label=${words.more} className="btn icon-only" button=${html`<${Icon} name="more" />`}
          items=${[
            { label: words.copyPlain, icon: "link", onClick: () => copy(`${location.origin}${root}/v/${video.asset_id}`) },
            { label: words.copyId, icon: "copy", onClick: () => copy(video.asset_id) },
            video.job_id && { label: words.openJob, icon: "jobs", href: url(`/jobs/${video.job_id}`) },
          ]}
        />
      </div>
    </div>
  `;
}

function factsOf(video, texts) {
  const { name, date } = day(video.created_at);
  return [
    `${name ?? date} ${clock(video.created_at)}`,
    video.duration_ms && duration(video.duration_ms),
    video.width && words.size(video.width, video.height),
    video.searchable_at && plural(texts, words.texts),
  ].filter(Boolean);
}

/** A deleted video can be brought back for a while. */
export function Gone({ video }) {
  const restore = async () => {
    try {
      keep("videos", await post(`/videos/${video.asset_id}/restore`));
      say(words.restored);
    } catch (problem) {
      sayProblem(problem);
    }
  };
  return html`
    <${Note} look="warning" title=${words.gone}>
      <p>${words.goneText(moment(video.purged_at))}</p>
      <p class="acts">${may("write") && html`<button class="btn small" onClick=${restore}><${Icon} name="retry" />${words.restore}</button>`}</p>
      <${CopyCommands} commands=${{ CLI: `rushes restore ${video.asset_id}`, curl: curl("POST", `/videos/${video.asset_id}/restore`) }} />
    <//>
  `;
}
