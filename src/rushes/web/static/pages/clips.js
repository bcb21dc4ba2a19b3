// Every clip, the newest first: where it comes from, how long it stays, and its file.

import { html, useEffect, useMemo } from "../lib.js";
import { Collection, refresh, row } from "../store.js";
import { count, noun } from "../format.js";
import { url } from "../root.js";
import { ClipCard } from "../parts/clipcard.js";
import { CopyCommands, curl } from "../parts/copy.js";
import { Empty } from "../parts/empty.js";
import { Icon } from "../parts/icon.js";
import { ProblemNote } from "../parts/problem.js";
import words from "../words/clip.js";

export default function Clips() {
  const clips = useMemo(() => new Collection("clips"), []);
  useEffect(() => clips.open(), [clips]);
  const ids = clips.ids.value;
  const isEmpty = !ids.length && !clips.hasMore.value;
  useEffect(() => {
    for (const id of new Set(ids.map((one) => row("clips", one).peek()?.video_id))) if (id && !row("videos", id).peek()) refresh("videos", id);
  }, [ids]);
  return html`
    <div class="page-head"><h1>${words.title}</h1><p class="num">${ids.length ? `${count(ids.length)}${clips.hasMore.value ? "+" : ""} ${noun(ids.length, words.clips)}` : words.lead}</p></div>
    ${clips.problem.value && html`<${ProblemNote} problem=${clips.problem.value} again=${() => clips.renew()} />`}
    ${isEmpty && !clips.problem.value && html`<${Nothing} />`}
    <ul class="frames clips">${ids.map((id) => html`<${ClipCard} key=${id} id=${id} />`)}</ul>
    ${ids.length > 0 && clips.hasMore.value && html`<p class="section"><button class="btn" onClick=${() => clips.more()}>${words.moreClips}</button></p>`}
    ${ids.length > 0 && html`<div class="section"><${CopyCommands} commands=${{ CLI: "rushes clips list", curl: curl("GET", "/clips") }} /></div>`}
  `;
}

const Nothing = () => html`
  <${Empty} title=${words.empty.title} text=${words.empty.text} commandText=${words.empty.commandText} command=${words.empty.command}>
    <a class="btn primary" href=${url("/search")}><${Icon} name="search" />${words.empty.action}</a>
  <//>
`;
