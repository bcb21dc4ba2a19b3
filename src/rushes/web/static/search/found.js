// The answer to a question. A new one ends the last; what was found stays until the next is there.

import { batch, computed, signal } from "../lib.js";
import { get } from "../api.js";

const LIMIT = 50;

export class Found {
  #asked = null;

  constructor() {
    this.question = null;
    this.hits = signal([]);
    this.answer = signal(null); // {moments, video_count, near, unread, next_cursor, ms}
    this.shown = computed(() => (this.hits.value.length ? this.hits.value : this.answer.value?.near ?? []));
    this.problem = signal(null);
    this.isBusy = signal(false);
  }

  async ask(question) {
    this.#asked?.abort();
    this.question = question;
    if (!question.q) return this.#clear();
    await this.#read(null, () => []);
  }

  /** Read the next page. */
  async more() {
    if (!this.isBusy.value) await this.#read(this.answer.value.next_cursor, () => this.hits.value);
  }

  stop() {
    this.#asked?.abort();
  }

  async #read(cursor, before) {
    const asked = (this.#asked = new AbortController());
    const began = performance.now();
    this.isBusy.value = true;
    try {
      const { items, ...answer } = await get("/search", { ...this.question, limit: LIMIT, cursor }, asked.signal);
      batch(() => {
        this.hits.value = [...before(), ...items];
        this.answer.value = { ...answer, ms: Math.round(performance.now() - began) };
        this.problem.value = null;
      });
    } catch (problem) {
      if (problem.name !== "AbortError") this.problem.value = problem;
    } finally {
      if (this.#asked === asked) this.isBusy.value = false;
    }
  }

  #clear() {
    batch(() => {
      this.hits.value = [];
      this.answer.value = this.problem.value = null;
      this.isBusy.value = false;
    });
  }
}
