// Several moments at once.

import { html, useSignal } from "../lib.js";
import { url } from "../root.js";
import { plural } from "../format.js";
import { Icon } from "../parts/icon.js";
import { say } from "../parts/toast.js";
import words from "../words/search.js";

export function Bulk({ list }) {
  const isBusy = useSignal(false);
  const hits = list.hits.value.filter((hit) => list.selected.value.has(hit.span_id));
  if (!hits.length) return null;
  const make = async () => {
    if (isBusy.value) return;
    isBusy.value = true;
    const made = [];
    for (const hit of hits) made.push(await list.cut(hit));
    isBusy.value = false;
    list.selected.value = new Set();
    say(words.clipsMade(plural(made.filter(Boolean).length, words.clips)), { icon: "scissors", action: { label: words.openClips, href: url("/clips") } });
  };
  const seconds = hits.reduce((sum, hit) => sum + hit.end_ms - hit.start_ms, 0) / 1000;
  return html`
    <div class="bulk" role="region" aria-label=${words.selection}>
      <span><b class="num">${hits.length}</b> ${words.selected(seconds.toFixed(1))}</span>
      <button class="btn mark" aria-disabled=${isBusy.value} onClick=${make}><${Icon} name="scissors" />${words.makeClips(plural(hits.length, words.clips))}</button>
      <button class="btn" onClick=${() => (list.selected.value = new Set())}>${words.clear}</button>
    </div>
  `;
}
