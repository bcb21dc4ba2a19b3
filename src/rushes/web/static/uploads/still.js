// A frame of a file that is on its way, from the file itself: nobody has to wait for the poster.

import { html, useEffect, useSignal } from "../lib.js";
import { Icon } from "../parts/icon.js";
import { fileOf } from "./queue.js";

const AT_S = 1; // films often begin with black

export function Still({ id }) {
  const source = useSignal(null);
  const file = fileOf(id);
  useEffect(() => {
    if (!file) return undefined;
    const address = URL.createObjectURL(file);
    source.value = `${address}#t=${AT_S}`;
    return () => URL.revokeObjectURL(address);
  }, [file]);
  if (!source.value) return html`<div class="poster poster-none"><${Icon} name="frame" /></div>`;
  return html`
    <div class="poster">
      <video src=${source.value} preload="metadata" muted playsinline tabindex="-1" aria-hidden="true" onError=${() => (source.value = null)}></video>
    </div>
  `;
}
