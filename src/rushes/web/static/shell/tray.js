// Uploads on every page: how far they are, and a way to pause them.

import { html, useEffect } from "../lib.js";
import { place } from "../router.js";
import { open, pause, restore, resume } from "../uploads/queue.js";
import { percent, span, speed } from "../format.js";
import { url } from "../root.js";
import { Bar } from "../parts/progress.js";
import { Icon } from "../parts/icon.js";
import words from "../words/upload.js";

export function Tray() {
  useEffect(() => {
    restore();
  }, []);
  const items = open.value;
  if (!items.length || place.value.path === "/upload") return null;
  const shown = items.find((one) => one.state === "sending") ?? items[0];
  const others = items.length - 1;
  return html`
    <aside class="tray" aria-label=${words.uploads}>
      <a class="tray-title" href=${url("/upload")}><${Icon} name="upload" /><span>${words.uploads}</span><span class="count">${items.length}</span></a>
      <${Item} item=${shown} />
      ${others > 0 && html`<div class="tray-item dim"><span class="name">${words.others(others)}</span></div>`}
      <p class="tray-end">${words.goesOn}</p>
    </aside>
  `;
}

function Item({ item }) {
  const value = (100 * item.sent) / Math.max(1, item.size);
  const isSending = item.state === "sending";
  return html`
    <div class="tray-item">
      <span class="name" dir="auto">${item.name}</span>
      ${isSending || item.state === "paused" ? html`
        <${Bar} value=${value} label=${words.uploadOf(item.name)} />
        <span class="num nowrap">${percent(value)}</span>
      ` : html`<span class="dim nowrap">${words.states[item.state]}</span>`}
      ${isSending && item.speed > 0 && html`<span class="faint nowrap hide-s num">${speed(item.speed)} · ${span((item.size - item.sent) / item.speed)}</span>`}
      ${isSending && html`<button class="btn quiet small icon-only" aria-label=${words.pause(item.name)} onClick=${() => pause(item.id)}><${Icon} name="pause" /></button>`}
      ${item.state === "paused" && html`<button class="btn quiet small icon-only" aria-label=${words.resume(item.name)} onClick=${() => resume(item.id)}><${Icon} name="play" /></button>`}
    </div>
  `;
}
