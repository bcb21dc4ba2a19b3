// Films can be dropped on any page.

import { html, signal, useEffect } from "../lib.js";
import { may } from "../api.js";
import { go, place } from "../router.js";
import { gather } from "../uploads/gather.js";
import { Icon } from "../parts/icon.js";
import words from "../words/shell.js";

/** Whether something is being dragged over the window. */
export const isOver = signal(false);

const hasFiles = (event) => may("upload") && [...(event.dataTransfer?.types ?? [])].includes("Files");

export function DropZone() {
  useEffect(() => {
    let depth = 0;
    const set = (n) => {
      depth = Math.max(0, n);
      isOver.value = depth > 0;
    };
    const on = {
      dragenter: () => set(depth + 1),
      dragleave: () => set(depth - 1),
      dragover: () => {},
      drop: async (event) => {
        set(0);
        const gathered = gather(event.dataTransfer); // at once: it is empty after the first await
        const { add } = await import("../uploads/queue.js");
        await add(await gathered);
        if (place.value.path !== "/upload" && place.value.path !== "/") go("/upload");
      },
    };
    const guarded = Object.entries(on).map(([type, does]) => [type, (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      does(event);
    }]);
    guarded.forEach(([type, listener]) => addEventListener(type, listener));
    return () => guarded.forEach(([type, listener]) => removeEventListener(type, listener));
  }, []);
  return isOver.value && html`<div class="dropping"><${Icon} name="upload" /><p>${words.drop}</p></div>`;
}
