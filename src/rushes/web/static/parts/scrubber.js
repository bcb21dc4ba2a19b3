// Moving over a poster shows the film: frames of the storyboard, which is fetched when it is needed.

import { html, useEffect, useRef } from "../lib.js";
import { url } from "../root.js";

const known = new Map();

/** The frames of a storyboard: [{start, src, x, y, w, h}], in seconds and pixels. */
export function storyboard(id) {
  if (!known.has(id)) known.set(id, read(id).catch(() => (known.delete(id), [])));
  return known.get(id);
}

/** Whether there is one: whoever asks for it before gets an error. */
export const hasStoryboard = (video) => video.status === "ready" || Boolean(video.work?.steps.storyboard?.done);

async function read(id) {
  const base = new URL(url(`/api/videos/${id}/storyboard.vtt`), location.href);
  const answer = await fetch(base);
  if (!answer.ok) throw new Error(answer.statusText);
  return [...(await answer.text()).matchAll(/^([\d:.]+) -->.*\n(\S+)#xywh=(\d+),(\d+),(\d+),(\d+)/gm)].map(
    ([, start, name, ...box]) => {
      const [x, y, w, h] = box.map(Number);
      return { start: seconds(start), src: new URL(name, base).href, x, y, w, h };
    },
  );
}

const seconds = (text) => text.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);

/** Listens to the whole card, whose link lies over the picture. */
export function Scrubber({ id }) {
  const picture = useRef(null);
  useEffect(() => {
    const frame = picture.current.parentElement;
    const card = frame.closest(".card") ?? frame;
    const move = async ({ clientX, clientY }) => {
      const { left, top, bottom, width } = frame.getBoundingClientRect();
      if (clientY < top || clientY > bottom) return hide();
      const at = Math.min(Math.max((clientX - left) / width, 0), 0.999);
      const frames = await storyboard(id);
      if (frames.length && picture.current) show(picture.current, frames[Math.floor(at * frames.length)], width);
    };
    const hide = () => picture.current && (picture.current.hidden = true);
    card.addEventListener("pointermove", move);
    card.addEventListener("pointerleave", hide);
    return () => {
      card.removeEventListener("pointermove", move);
      card.removeEventListener("pointerleave", hide);
    };
  }, [id]);
  return html`<div class="scrubber" aria-hidden="true"><img ref=${picture} alt="" hidden /></div>`;
}

function show(picture, { src, x, y, w }, width) {
  if (picture.src !== src) picture.src = src;
  picture.style.transform = `scale(${width / w}) translate(${-x}px, ${-y}px)`;
  picture.hidden = false;
}
