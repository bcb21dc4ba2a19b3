// The texts of one film: which are on the screen now, which answer the question, which are listed.

import { computed, signal } from "../lib.js";
import { get } from "../api.js";

export const KINDS = ["mention", "hashtag", "url", "number", "phone", "emoji"];
const MOST_HITS = 200;

export class Texts {
  constructor(id, player, question) {
    Object.assign(this, { id, player, question });
    this.all = signal([]);
    this.problem = signal(null);
    this.hits = signal(new Map()); // by `keyOf`: the parts of the text that answer
    this.kind = signal(null);
    this.filter = signal("");
    this.least = signal(0);
    this.shown = computed(() => this.all.value.filter((one) => this.#isShown(one)));
    // as text, so that nothing is drawn again while the same texts are on the screen
    const active = computed(() => this.#activeAt(player.time.value * 1000).join(" "));
    this.active = computed(() => active.value.split(" ").filter(Boolean).map((number) => this.all.value[number]));
    this.current = computed(() => this.#current()?.number ?? null);
  }

  /** Read them; called again when there are more. */
  async read() {
    try {
      const { items } = await get(`/videos/${this.id}/text`);
      this.all.value = items.map((text, number) => ({ ...text, number }));
      this.problem.value = null;
    } catch (problem) {
      this.problem.value = problem;
    }
  }

  /** Find out which of them answer the question that led here. */
  async ask() {
    if (!this.question) return;
    const found = await get("/search", { q: this.question, video: this.id, source: "screen", limit: MOST_HITS }).catch(() => ({ items: [] }));
    this.hits.value = new Map(found.items.map((hit) => [keyOf(hit), hit.offsets]));
  }

  offsets(text) {
    return this.hits.value.get(keyOf(text)) ?? [];
  }

  /** How many texts have an entity of each kind; those without any are left out. */
  counts() {
    const has = (kind) => this.all.value.filter((one) => one.entities.some((entity) => entity.kind === kind)).length;
    return KINDS.map((kind) => [kind, has(kind)]).filter(([, n]) => n);
  }

  #isShown(text) {
    const { kind, filter, least } = this;
    return text.confidence >= least.value && text.text.toLowerCase().includes(filter.value.toLowerCase())
      && (!kind.value || text.entities.some((entity) => entity.kind === kind.value));
  }

  #activeAt(ms) {
    return this.all.value.filter((one) => one.start_ms <= ms + 1 && ms < one.end_ms).map((one) => one.number);
  }

  /** The text that is marked: one that answers, else the first of those that came last. */
  #current() {
    const active = this.active.value;
    const answers = active.find((one) => this.hits.value.has(keyOf(one)));
    const last = Math.max(...active.map((one) => one.start_ms));
    return answers ?? active.find((one) => one.start_ms === last);
  }
}

const keyOf = ({ start_ms, text }) => `${start_ms} ${text}`;
