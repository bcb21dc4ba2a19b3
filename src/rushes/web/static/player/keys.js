// The keys that people know from other players.

import { useKeys } from "../shell/shortcuts.js";
import { toggleFullscreen } from "./view.js";
import words from "../words/player.js";

const TENTHS = "123456789";

/** `seconds` is how long the film is; `frame` the element that fills the screen. */
export function usePlayerKeys({ player, seconds, frame, captions, tracks, boxes }) {
  const play = () => player.toggle();
  const cycle = () => {
    const names = [null, ...tracks().map((one) => one.name)];
    captions.value = names[(names.indexOf(captions.value) + 1) % names.length];
  };
  useKeys({
    " ": [play], k: [play, words.keys.play],
    j: [() => player.skip(-10), words.keys.back], l: [() => player.skip(10), words.keys.forth],
    ArrowLeft: [() => player.skip(-5), words.keys.left, "←"], ArrowRight: [() => player.skip(5), words.keys.right, "→"],
    ",": [() => player.step(-1), words.keys.frameBack], ".": [() => player.step(1), words.keys.frameOn],
    0: [() => player.seek(0), words.keys.tenth, "0 – 9"],
    ...Object.fromEntries([...TENTHS].map((digit) => [digit, [() => player.seek((seconds() * Number(digit)) / 10)]])),
    f: [() => toggleFullscreen(frame.current), words.keys.fullscreen], m: [() => player.toggleMuted(), words.keys.mute],
    c: [cycle, words.keys.captions], "<": [() => player.faster(-1), words.keys.slower], ">": [() => player.faster(1), words.keys.faster],
    b: [() => (boxes.value = !boxes.value), words.keys.boxes],
  });
}
