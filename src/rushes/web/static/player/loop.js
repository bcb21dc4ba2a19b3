// A part of a film over and over, without controls or with those of the browser.

import { html, useEffect, useMemo, useRef } from "../lib.js";
import { Player } from "./player.js";

/** `start` and `length` are seconds; without a start it is where the playlist begins. A playlist goes on behind the end of the clip, so it is turned back. */
export function Loop({ source, start = null, length, label, isHeard = false, children }) {
  const element = useRef(null);
  const player = useMemo(() => new Player(source, { start, isMuted: !isHeard }), [source, start]);
  useEffect(() => {
    const video = element.current;
    let begin = start;
    const turn = () => {
      begin ??= video.currentTime;
      if (video.currentTime >= begin + length || video.ended) video.currentTime = begin;
    };
    const again = () => {
      turn();
      player.play();
    };
    video.addEventListener("loadeddata", () => player.play(), { once: true });
    video.addEventListener("timeupdate", turn);
    video.addEventListener("ended", again);
    const stop = player.attach(video);
    return () => {
      video.removeEventListener("timeupdate", turn);
      video.removeEventListener("ended", again);
      stop();
    };
  }, [player]);
  return html`<div class="poster"><video ref=${element} playsinline muted=${!isHeard} controls=${isHeard} aria-label=${label}></video>${children}</div>`;
}
