// A film that plays: hls.js feeds a <video>, and whatever it does is a signal. hls.js is fetched when
// the first film is shown, and not at all where the browser plays HLS itself.

import { batch, signal } from "../lib.js";
import { Problem } from "../api.js";
import words from "../words/player.js";

export const SPEEDS = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3];
export const AUTO = -1;
const USUAL_FPS = 25;
const VOLUME = "rushes.volume";
const AGAIN_MS = 2000;

/** Whether the moving of things was turned off. */
export const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export class Player {
  #hls = null;
  #repairs = 0;
  element = null;

  /** `source` is the address of a playlist or a file; it begins at `start`, in seconds. */
  constructor(source, { start = null, isMuted = false } = {}) {
    Object.assign(this, { source, start });
    this.time = signal(start ?? 0);
    this.length = signal(0); // as far as the film is made
    this.buffered = signal(0);
    this.isPaused = signal(true);
    this.isWaiting = signal(false);
    this.isShown = signal(false); // a frame of it, not the poster
    this.isMuted = signal(isMuted);
    this.volume = signal(Number(localStorage.getItem(VOLUME) ?? 1));
    this.speed = signal(1);
    this.levels = signal([]); // [{number, height, bitrate}], the best first
    this.level = signal(null); // the one that is shown
    this.wanted = signal(AUTO);
    this.fps = signal(USUAL_FPS);
    this.problem = signal(null);
  }

  /** Begin in an element; returns how to stop. */
  attach(element) {
    this.element = element;
    const follow = {
      timeupdate: () => this.#look(), seeking: () => this.#look(), seeked: () => this.#look(), progress: () => this.#look(),
      durationchange: () => this.#look(), loadedmetadata: () => this.#look(),
      loadeddata: () => (this.isShown.value = true),
      play: () => (this.isPaused.value = false), pause: () => (this.isPaused.value = true),
      waiting: () => (this.isWaiting.value = true), playing: () => (this.isWaiting.value = false), canplay: () => (this.isWaiting.value = false),
      ratechange: () => (this.speed.value = element.playbackRate),
      volumechange: () => this.#heard(),
      error: () => this.source && !this.#hls && this.#fail(words.unplayable, element.error?.message),
    };
    for (const [type, listener] of Object.entries(follow)) element.addEventListener(type, listener);
    element.volume = this.volume.value;
    element.muted = this.isMuted.value;
    this.#everyFrame();
    this.#load().catch(() => this.#fail(words.unplayable));
    return () => {
      for (const [type, listener] of Object.entries(follow)) element.removeEventListener(type, listener);
      this.#hls?.destroy();
      this.#hls = this.element = null;
      element.removeAttribute("src");
      element.load();
    };
  }

  async play() {
    await this.element?.play().catch(() => {}); // the browser may want a click first
  }

  toggle() {
    if (this.isPaused.value) this.play();
    else this.element?.pause();
  }

  pause() {
    this.element?.pause();
  }

  /** Go to a moment, in seconds; within what is there. */
  seek(seconds) {
    if (!this.element) return;
    const last = this.length.value || Infinity;
    this.element.currentTime = this.time.value = Math.max(0, Math.min(seconds, last));
  }

  skip(seconds) {
    this.seek(this.time.value + seconds);
  }

  /** Go some frames on, or back, and stay there. A little behind its beginning a frame is surely shown. */
  step(frames) {
    this.pause();
    this.seek((Math.floor(this.time.value * this.fps.value + 0.01) + frames + 0.1) / this.fps.value);
  }

  /** When the frame that is shown began, in milliseconds. */
  frameStart() {
    return Math.round((Math.floor(this.time.value * this.fps.value + 0.01) / this.fps.value) * 1000);
  }

  setSpeed(speed) {
    if (this.element) this.element.playbackRate = speed;
  }

  faster(step) {
    const at = SPEEDS.findIndex((one) => one >= this.speed.value);
    this.setSpeed(SPEEDS[Math.min(Math.max(at + step, 0), SPEEDS.length - 1)]);
  }

  setVolume(volume) {
    if (this.element) Object.assign(this.element, { volume, muted: volume === 0 });
  }

  toggleMuted() {
    if (this.element) this.element.muted = !this.element.muted;
  }

  /** Keep to one quality, or AUTO. */
  choose(number) {
    this.wanted.value = number;
    if (this.#hls) this.#hls.nextLevel = number;
  }

  #look() {
    const { element } = this;
    if (!element) return;
    batch(() => {
      this.time.value = element.currentTime;
      if (Number.isFinite(element.duration)) this.length.value = element.duration;
      const { buffered } = element;
      for (let at = 0; at < buffered.length; at++) {
        if (buffered.start(at) <= element.currentTime + 0.1) this.buffered.value = buffered.end(at);
      }
    });
  }

  #heard() {
    this.volume.value = this.element.volume;
    this.isMuted.value = this.element.muted;
    localStorage.setItem(VOLUME, this.element.volume);
  }

  /** Boxes and play heads follow the picture, not the four reports a second that browsers make. */
  #everyFrame() {
    const { element } = this;
    const shown = () => {
      if (this.element !== element) return;
      this.time.value = element.currentTime;
      element.requestVideoFrameCallback(shown);
    };
    element.requestVideoFrameCallback?.(shown);
  }

  async #load() {
    const { element, source } = this;
    if (!/\.m3u8(\?|$)/.test(source)) return this.#loadFile();
    const { default: Hls } = await import("../vendor/hls.mjs");
    if (this.element !== element) return;
    if (!Hls.isSupported()) return this.#loadFile();
    // its worker would come from a blob, which trusted types refuse
    const hls = (this.#hls = new Hls({ enableWorker: false, startPosition: this.start ?? -1, capLevelToPlayerSize: true, backBufferLength: 60 }));
    hls.on(Hls.Events.MANIFEST_PARSED, () => this.#levelsKnown(hls));
    hls.on(Hls.Events.LEVEL_SWITCHED, (_, { level }) => (this.level.value = level));
    hls.on(Hls.Events.ERROR, (_, told) => told.fatal && this.#repair(hls, Hls, told));
    hls.loadSource(source);
    hls.attachMedia(element);
  }

  #loadFile() {
    this.element.src = this.source;
    if (this.start !== null) this.element.currentTime = this.start;
  }

  #levelsKnown(hls) {
    const levels = hls.levels.map(({ height, bitrate }, number) => ({ number, height, bitrate }));
    this.levels.value = levels.sort((one, other) => other.height - one.height);
    this.fps.value = Number(hls.levels[0]?.attrs["FRAME-RATE"]) || USUAL_FPS;
  }

  /** The network is asked again; a picture that cannot be shown is tried anew, twice. */
  #repair(hls, Hls, { type, details, response }) {
    if (type === Hls.ErrorTypes.NETWORK_ERROR && (response?.code ?? 0) < 400) return setTimeout(() => this.#hls === hls && hls.startLoad(), AGAIN_MS);
    if (type === Hls.ErrorTypes.MEDIA_ERROR && this.#repairs++ < 2) return hls.recoverMediaError();
    return this.#fail(words.unplayable, details);
  }

  #fail(text, hint) {
    this.problem.value = new Problem({ code: "PLAYBACK_FAILED", detail: text, hint: hint ?? null });
  }
}
