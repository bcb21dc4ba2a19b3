// The side bar with its live counts; on small screens a bar at the bottom.

import { html, useSignal } from "../lib.js";
import { may } from "../api.js";
import { place } from "../router.js";
import { counts } from "../store.js";
import { bytes, count } from "../format.js";
import { url } from "../root.js";
import { Icon } from "../parts/icon.js";
import { Dialog } from "../parts/dialog.js";
import words from "../words/shell.js";

const LINKS = {
  library: { path: "/", icon: "library" },
  search: { path: "/search", icon: "search" },
  clips: { path: "/clips", icon: "scissors" },
  upload: { path: "/upload", icon: "upload" },
  jobs: { path: "/jobs", icon: "jobs", Count: () => active() > 0 && html`<span class="count">${count(active())}</span>` },
  failed: { path: "/failed", icon: "failed", Count: () => counts.failed.value > 0 && html`
    <span class="count count-alert">${count(counts.failed.value)}<span class="sr">${words.groups}</span></span>` },
  workers: { path: "/workers", icon: "worker", isForAdmins: true, Count: () => counts.workers.value != null && html`
    <span class="count">${count(counts.workers.value)}</span>` },
  system: { path: "/system", icon: "system", isForAdmins: true, Count: () => counts.health.value && html`
    <span class="count">${counts.health.value.problems.length
      ? html`<span aria-hidden="true">${words.attention}</span><span class="sr">${words.attentionLong}</span>`
      : words.ok}</span>` },
  docs: { path: "/docs", icon: "docs" },
};
const TOP = ["library", "search", "clips"];
const BELOW = ["jobs", "failed", "workers", "system", "docs"];
const TABS = ["library", "search", "upload", "jobs"];
const MORE = ["clips", "failed", "workers", "system", "docs"];

const active = () => (counts.jobs.value?.queued ?? 0) + (counts.jobs.value?.running ?? 0);
const allowed = (names) => names.filter((name) => may("admin") || !LINKS[name].isForAdmins);
const isHere = (name) => {
  const { path } = place.value;
  if (name === "library") return path === "/" || path.startsWith("/v/");
  return path === LINKS[name].path || path.startsWith(`${LINKS[name].path}/`);
};

const Link = ({ name, onClick }) => html`
  <a href=${url(LINKS[name].path)} aria-current=${isHere(name) ? "page" : undefined} onClick=${onClick}>
    <${Icon} name=${LINKS[name].icon} /><span class="label">${words.pages[name]}</span>${LINKS[name].Count && html`<${LINKS[name].Count} />`}
  </a>
`;

export const Side = () => html`
  <nav class="side" aria-label=${words.main}>
    ${[TOP, BELOW].map((names) => html`<ul>${allowed(names).map((name) => html`<li><${Link} name=${name} /></li>`)}</ul>`)}
    <${Foot} />
  </nav>
`;

const Foot = () => html`
  <p class="side-foot">
    ${location.hostname}${counts.health.value && html`<br />${words.free(bytes(counts.health.value.storage.free_bytes))}`}
  </p>
`;

export function TabBar() {
  const isOpen = useSignal(false);
  const close = () => (isOpen.value = false);
  return html`
    <nav class="tabbar" aria-label=${words.mainSmall}>
      ${TABS.map((name) => html`
        <a href=${url(LINKS[name].path)} aria-current=${isHere(name) ? "page" : undefined}><${Icon} name=${LINKS[name].icon} />${words.pages[name]}</a>
      `)}
      <button type="button" aria-haspopup="dialog" aria-current=${MORE.some(isHere) ? "page" : undefined} onClick=${() => (isOpen.value = true)}>
        <${Icon} name="more" />${words.pages.more}
      </button>
    </nav>
    ${isOpen.value && html`
      <${Dialog} title=${words.pages.more} onClose=${close}>
        <ul class="more">${allowed(MORE).map((name) => html`<li><${Link} name=${name} onClick=${close} /></li>`)}</ul>
      <//>
    `}
  `;
}
