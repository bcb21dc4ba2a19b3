// A clip that somebody marks: from when to when, and what the server would make of it.

import { batch, computed, effect, signal } from "../lib.js";
import { get, post } from "../api.js";
import { keep } from "../store.js";

const PADDING_MS = 2000;
const USUAL_MS = 10_000;
const ASK_AFTER_MS = 250;
const SHORTEST_WINDOW_MS = 20_000;

export class Clip {
  #timer = null;
  #asked = null;
  #fitted = null;

  /** `video` is a signal; `start` and `end` are milliseconds, and may be null. */
  constructor(video, player, { start, end }) {
    Object.assign(this, { video, player });
    const length = video.peek()?.duration_ms ?? Infinity;
    const from = Math.min(start ?? 0, length);
    this.start = signal(from);
    this.end = signal(Math.min(end ?? from + USUAL_MS, length));
    this.mode = signal("exact");
    this.padding = signal(PADDING_MS);
    this.isLooping = signal(false);
    this.plan = signal(null); // what a fast one would be
    this.problem = signal(null);
    this.made = signal(null); // the id of the one that was asked for last
    this.length = computed(() => this.end.value - this.start.value);
    this.window = signal(this.#windowAround());
  }

  get wish() {
    return { video_id: this.video.value.asset_id, t_start: this.start.value, t_end: this.end.value, padding_ms: this.padding.value, mode: this.mode.value };
  }

  /** Ask for the plan when the marks rest, and loop while that is wanted; returns how to stop. */
  open() {
    const stops = [effect(() => this.#fit()), effect(() => this.#askSoon()), effect(() => this.#loop())];
    return () => {
      clearTimeout(this.#timer);
      this.#asked?.abort();
      stops.forEach((stop) => stop());
    };
  }

  /** Mark both ends and show them. */
  set(start, end) {
    batch(() => {
      this.start.value = this.#within(start);
      this.end.value = Math.max(this.#within(end), this.start.value + this.#frame());
      this.window.value = this.#windowAround();
    });
  }

  /** Move one end; the other one gives way. `isFramed`: the strip of frames goes with it. */
  move(side, ms, { isFramed = true } = {}) {
    const to = this.#within(ms);
    batch(() => {
      this[side].value = to;
      if (this.length.value < this.#frame()) {
        if (side === "start") this.end.value = this.#within(to + Math.max(USUAL_MS, this.#frame()));
        else this.start.value = this.#within(to - USUAL_MS);
      }
      if (isFramed) this.window.value = this.#windowAround();
    });
  }

  /** Mark what is shown now: the out mark is behind its frame, so that the frame is in the clip. */
  mark(side) {
    this.move(side, this.player.frameStart() + (side === "end" ? this.#frame() : 0));
  }

  /** Move one end by frames, and look at the frame. */
  nudge(side, frames) {
    const number = Math.round((this[side].value / 1000) * this.player.fps.value) + frames;
    this.move(side, Math.round((number / this.player.fps.value) * 1000));
    this.look(side);
  }

  /** Show the first frame of the clip, or its last. */
  look(side) {
    this.player.pause();
    this.player.seek((this[side].value - (side === "end" ? this.#frame() : 0) + 1) / 1000);
  }

  /** Ask for the clip. Raises Problem. */
  async make() {
    const made = keep("clips", await post("/clips", this.wish)).value;
    this.made.value = made.clip_id;
    return made;
  }

  #frame() {
    return Math.round(1000 / this.player.fps.value);
  }

  #within(ms) {
    return Math.min(Math.max(Math.round(ms), 0), this.video.value?.duration_ms ?? Infinity);
  }

  /** The part of the film that the strip shows: the clip, and as much again on both sides. */
  #windowAround() {
    const length = this.video.peek()?.duration_ms ?? this.end.peek();
    const size = Math.min(Math.max(SHORTEST_WINDOW_MS, 2 * (this.end.peek() - this.start.peek())), length);
    const middle = (this.start.peek() + this.end.peek()) / 2;
    const from = Math.min(Math.max(middle - size / 2, 0), length - size);
    return { from, to: from + size };
  }

  /** The length of a film that was just taken in is known a little later. */
  #fit() {
    const length = this.video.value?.duration_ms;
    if (!length || this.#fitted === length) return;
    this.#fitted = length;
    this.set(Math.min(this.start.peek(), length - this.#frame()), Math.min(this.end.peek(), length));
  }

  #askSoon() {
    if (!this.video.value?.duration_ms) return;
    const query = { start: this.start.value, end: this.end.value, padding_ms: this.padding.value, mode: "fast" };
    clearTimeout(this.#timer);
    this.#asked?.abort();
    this.#timer = setTimeout(() => this.#ask(query), ASK_AFTER_MS);
  }

  async #ask(query) {
    this.#asked = new AbortController();
    try {
      const plan = await get(`/videos/${this.video.value.asset_id}/clip-plan`, query, this.#asked.signal);
      batch(() => {
        this.plan.value = plan;
        this.problem.value = null;
      });
    } catch (problem) {
      if (problem.name === "AbortError") return;
      batch(() => {
        this.plan.value = null;
        this.problem.value = problem;
      });
    }
  }

  #loop() {
    if (!this.isLooping.value) return;
    const now = this.player.time.value * 1000;
    if (now >= this.end.value - 10 || now < this.start.value - 500) this.player.seek((this.start.value + 1) / 1000);
  }
}
