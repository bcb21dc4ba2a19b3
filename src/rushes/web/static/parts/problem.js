// A refusal or a failure: the code, what happened, and the next step. No dead ends.

import { html } from "../lib.js";
import { Icon } from "./icon.js";
import words from "../words/shell.js";

/** A problem of the API on a page; `again` is what the button does, `children` other ways out. */
export const ProblemNote = ({ problem, again, children }) => html`
  <div class="note is-failed" role="alert">
    <${Icon} name="failed" />
    <h2>${problem.message}</h2>
    <p>${problem.code && html`<code>${problem.code}</code>`} ${problem.hint}</p>
    ${(again || children) && html`
      <p class="acts">
        ${again && html`<button class="btn small" onClick=${again}><${Icon} name="retry" />${words.tryAgain}</button>`}
        ${children}
      </p>
    `}
  </div>
`;

/** A note of another kind: `look` is "warning", "failed" or nothing. */
export const Note = ({ look, icon, title, children }) => html`
  <div class=${look ? `note is-${look}` : "note"}>
    <${Icon} name=${icon ?? look ?? "queued"} /><h2>${title}</h2>${children}
  </div>
`;

/** A failure of work: `about` follows its code, `seen` stands at its side, `children` are the buttons of the next step. */
export const ErrorCard = ({ code, about, title, hint, seen, children, more }) => html`
  <article class="errcard">
    <header>
      <p class="code"><b>${code}</b>${about}</p>
      <h2>${title}</h2>
      ${seen && html`<div class="seen">${seen}</div>`}
    </header>
    <div class="next"><b>${words.next}</b><p>${hint}</p><div class="acts">${children}</div></div>
    ${more}
  </article>
`;
