// The list of moments by keyboard: which one is current, which are selected, which became clips.

import { signal } from "../lib.js";
import { post } from "../api.js";
import { keep } from "../store.js";
import { sayProblem } from "../parts/toast.js";

export class HitList {
  constructor(hits) {
    this.hits = hits;
    this.current = signal(null);
    this.selected = signal(new Set());
    this.clips = signal(new Map()); // by span, the clip that was made of it
  }

  get now() {
    return this.hits.value.find((hit) => hit.span_id === this.current.value) ?? this.hits.value[0];
  }

  /** Go to the next one, or to the one before. */
  move(step) {
    const at = this.hits.value.findIndex((hit) => hit.span_id === this.current.value);
    const to = at < 0 ? 0 : Math.min(Math.max(at + step, 0), this.hits.value.length - 1);
    this.focus(this.hits.value[to]);
  }

  focus(hit) {
    if (!hit) return;
    this.current.value = hit.span_id;
    const element = document.querySelector(`[data-span="${hit.span_id}"]`);
    element?.querySelector(".play").focus({ preventScroll: true });
    element?.scrollIntoView({ block: "nearest" });
  }

  toggle(span) {
    const next = new Set(this.selected.value);
    if (!next.delete(span)) next.add(span);
    this.selected.value = next;
  }

  /** Make a clip of a moment; it stands below the moment, and its file can be had there. */
  async cut(hit) {
    try {
      const made = await post("/clips", wishOf(hit));
      keep("clips", made);
      this.clips.value = new Map(this.clips.value).set(hit.span_id, made.clip_id);
      return made;
    } catch (problem) {
      sayProblem(problem);
      return null;
    }
  }
}

export const wishOf = (hit) => ({ video_id: hit.asset_id, t_start: hit.start_ms, t_end: hit.end_ms });
