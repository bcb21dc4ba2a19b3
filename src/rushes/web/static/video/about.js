// What else there is to know and to do: five tabs, of which the address tells one.

import { html, useEffect, useMemo } from "../lib.js";
import { setQuery } from "../router.js";
import { Collection, row } from "../store.js";
import { count } from "../format.js";
import { ClipCard } from "../parts/clipcard.js";
import { Tabs } from "../parts/tabs.js";
import { Details } from "./details.js";
import { Files } from "./files.js";
import { Jobs } from "./jobs.js";
import { Qualities } from "./qualities.js";
import words from "../words/video.js";

export function About({ video, tab }) {
  const clips = useMemo(() => new Collection("clips", { video_id: video.asset_id }), [video.asset_id]);
  useEffect(() => clips.open(), [clips]);
  const current = tab in words.tabs ? tab : "details";
  const counts = {
    qualities: video.versions?.at(-1)?.qualities.length || null,
    clips: clips.ids.value.length ? `${count(clips.ids.value.length)}${clips.hasMore.value ? "+" : ""}` : null,
    jobs: video.versions?.length || null,
  };
  const tabs = Object.entries(words.tabs).map(([name, label]) => ({ name, label, count: counts[name] }));
  const Shown = { details: Details, qualities: Qualities, clips: Clips, jobs: Jobs, files: Files }[current];
  return html`
    <section class="section about">
      <${Tabs} label=${words.about} tabs=${tabs} current=${current} onChange=${(name) => setQuery({ tab: name })}>
        <${Shown} video=${video} clips=${clips} />
      <//>
    </section>
  `;
}

const Clips = ({ clips }) => {
  const ids = clips.ids.value.filter((id) => row("clips", id).value);
  if (!ids.length) return html`<p class="dim">${words.clips.none}</p>`;
  return html`<ul class="frames">${ids.map((id) => html`<${ClipCard} key=${id} id=${id} isOfVideo />`)}</ul>`;
};
