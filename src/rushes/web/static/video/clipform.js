// The clip in numbers: both marks, how to cut, and the button that makes it.

import { html, useRef, useSignal } from "../lib.js";
import { may } from "../api.js";
import { parseTime, timecode } from "../format.js";
import { CopyCommands } from "../parts/copy.js";
import { Icon } from "../parts/icon.js";
import { sayProblem } from "../parts/toast.js";
import { commandsOf, MadeClip } from "../parts/clipcard.js";
import words from "../words/clip.js";

const PADDINGS_MS = [0, 500, 1000, 2000, 5000];

export function ClipForm({ clip }) {
  const isBusy = useSignal(false);
  const isOpen = useSignal(false);
  const make = async (event) => {
    event?.preventDefault();
    if (isBusy.value) return;
    isBusy.value = true;
    await clip.make().catch(sayProblem);
    isBusy.value = false;
  };
  const loop = () => {
    clip.isLooping.value = !clip.isLooping.value;
    if (clip.isLooping.value) clip.player.play();
  };
  return html`
    <form class="clipform" aria-label=${words.form} onSubmit=${make}>
      <${TimeField} clip=${clip} side="start" /><${TimeField} clip=${clip} side="end" />
      <${Modes} clip=${clip} />
      <div class="end">
        <span class="tc dim">${words.length((clip.length.value / 1000).toFixed(1))}</span>
        <button type="button" class="btn icon-only" aria-label=${words.loop} aria-pressed=${clip.isLooping.value} onClick=${loop}><${Icon} name="loop" /></button>
        <button type="button" class="btn icon-only" aria-label=${words.asCommand} aria-expanded=${isOpen.value} onClick=${() => (isOpen.value = !isOpen.value)}><${Icon} name="docs" /></button>
        ${may("write") && html`<button class="btn mark" aria-disabled=${isBusy.value}><${Icon} name="scissors" />${words.make}</button>`}
      </div>
    </form>
    ${isOpen.value && html`<${Command} clip=${clip} />`}
    ${clip.made.value && html`<${MadeClip} id=${clip.made.value} key=${clip.made.value} />`}
  `;
}

/** A time that can be typed: 62.5, 1:02.5; what is no time is not taken. */
function TimeField({ clip, side }) {
  const input = useRef(null);
  const take = () => {
    const ms = parseTime(input.current.value);
    if (ms !== null) {
      clip.move(side, ms);
      clip.look(side);
    }
    input.current.value = timecode(clip[side].value);
  };
  const onKey = (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // the first Enter takes the time, and makes no clip
    take();
  };
  const step = (frames, sign, label) => html`
    <button type="button" class="btn icon-only" aria-label=${label} onClick=${() => clip.nudge(side, frames)}>${sign}</button>
  `;
  return html`
    <div class="field">
      <label for=${`clip-${side}`}>${words.sides[side]} <kbd aria-hidden="true">${words.keys[side][0]}</kbd></label>
      <div class="tcfield">
        ${step(-1, "−", words.earlier[side])}
        <input class="input tc" id=${`clip-${side}`} ref=${input} value=${timecode(clip[side].value)} onChange=${take} onKeyDown=${onKey} inputmode="decimal" autocomplete="off" />
        ${step(1, "+", words.later[side])}
      </div>
    </div>
  `;
}

/** Exact, or fast: where that would really begin is known before it is cut. */
function Modes({ clip }) {
  const { plan, problem } = clip;
  const choice = (mode, text) => html`
    <label class="check"><input type="radio" name="mode" value=${mode} checked=${clip.mode.value === mode} onChange=${() => (clip.mode.value = mode)} />${text}</label>
  `;
  return html`
    <fieldset class="modes">
      <legend class="sr">${words.how}</legend>
      <label class="padding">${words.padding}
        <select onChange=${(event) => (clip.padding.value = Number(event.target.value))}>
          ${PADDINGS_MS.map((ms) => html`<option value=${ms} selected=${ms === clip.padding.value}>${words.seconds(ms / 1000)}</option>`)}
        </select>
      </label>
      ${choice("exact", words.exact)}
      ${choice("fast", html`<span>${plan.value ? html`${words.fastStarts} <span class="tc">${timecode(plan.value.actual_start)}</span>` : words.fast}</span>`)}
      ${problem.value && html`<span class="help" role="status">${problem.value.message}</span>`}
    </fieldset>
  `;
}

function Command({ clip }) {
  return html`<div class="clipcommand"><${CopyCommands} commands=${commandsOf(clip.wish)} /></div>`;
}
