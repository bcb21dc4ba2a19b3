// A list of any length: only what can be seen, and a little around it, is in the document. The
// page itself scrolls. Rows have one height, or several stand beside each other in a grid.

import { html, useLayoutEffect, useRef, useSignal } from "../lib.js";

const AROUND_PX = 800;

/**
 * `items` are shown by `render(item)`; `rowHeight` is in px, `columns` how many stand in a row.
 * `onEnd` is called when the end comes near, to load more.
 */
export function List({ items, render, rowHeight, columns = 1, onEnd, as = "ul", className, label, role }) {
  const element = useRef(null);
  const seen = useSignal({ first: 0, last: 40 });
  const lines = Math.ceil(items.length / columns);

  useLayoutEffect(() => {
    const look = () => {
      if (!element.current) return;
      const { top } = element.current.getBoundingClientRect();
      const first = Math.max(0, Math.floor((-top - AROUND_PX) / rowHeight));
      const last = Math.ceil((innerHeight - top + AROUND_PX) / rowHeight);
      if (first !== seen.value.first || last !== seen.value.last) seen.value = { first, last };
      if (last >= lines) onEnd?.();
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [lines, rowHeight, onEnd]);

  const first = Math.min(seen.value.first, Math.max(0, lines - 1));
  const last = Math.min(seen.value.last, lines);
  const space = { "--before": `${first * rowHeight}px`, "--after": `${Math.max(0, lines - last) * rowHeight}px` };
  return html`
    <${as} class=${`windowed ${className ?? ""}`} ref=${element} style=${space} aria-label=${label} role=${role}>
      ${items.slice(first * columns, last * columns).map(render)}
    <//>
  `;
}
