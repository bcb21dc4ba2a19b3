// The door: a link that works once, or a name and a password.

import { html, useEffect, useSignal } from "../lib.js";
import { logIn, me, Problem } from "../api.js";
import { go, safeNext } from "../router.js";
import { file, url } from "../root.js";
import { Icon } from "../parts/icon.js";
import { ProblemNote } from "../parts/problem.js";
import words from "../words/login.js";

const WALL = [
  "harbour", "council", "track", "match", "studio", "swim", "cycling", "interview", "weather", "street", "parliament", "election",
];

export default function Login({ query }) {
  const problem = useSignal(null);
  const isBusy = useSignal(false);

  const enter = async (body) => {
    isBusy.value = true;
    try {
      await logIn(body);
      go(safeNext(query.next), { replace: true });
    } catch (refused) {
      problem.value = refused;
      isBusy.value = false;
    }
  };
  useEffect(() => {
    const token = location.hash.slice(1);
    if (me.value && !token) go(safeNext(query.next), { replace: true });
    if (!token) return;
    history.replaceState(null, "", location.pathname + location.search); // it works once: nobody needs to see it
    enter({ token });
  }, []);

  return html`
    <${Wall} />
    <main class="gate">
      <a class="brand" href=${url("/")}><${Icon} name="mark" />${words.name}</a>
      <${Form} isBusy=${isBusy.value} enter=${enter} />
      ${problem.value && html`<${Refusal} problem=${problem.value} />`}
      <div class="foot">
        <p>${words.first} <code>${words.firstCommand}</code></p>
        <p>${words.lost} <code>${words.lostCommand}</code></p>
      </div>
    </main>
  `;
}

function Form({ isBusy, enter }) {
  const submit = (event) => {
    event.preventDefault();
    const fields = new FormData(event.target);
    enter({ name: fields.get("name"), password: fields.get("password") });
  };
  return html`
    <form onSubmit=${submit}>
      <div><h1>${words.title}</h1><p class="dim">${words.to(location.host)}</p></div>
      <div class="field"><label for="name">${words.user}</label><input class="input" id="name" name="name" autocomplete="username" autocapitalize="none" required /></div>
      <div class="field"><label for="password">${words.password}</label><input class="input" id="password" name="password" type="password" autocomplete="current-password" required /></div>
      <button class="btn primary" aria-disabled=${isBusy}>${isBusy ? words.entering : words.enter}</button>
    </form>
  `;
}

function Refusal({ problem }) {
  const isWrong = problem instanceof Problem && problem.status === 401;
  const told = isWrong ? Object.assign(new Problem({ code: problem.code, detail: problem.message }), { hint: problem.hint ?? words.lost }) : problem;
  return html`<div class="refusal"><${ProblemNote} problem=${told} /></div>`;
}

const Wall = () => html`
  <section class="wall" aria-label=${words.about}>
    <svg class="loop" viewBox="0 0 320 190" aria-hidden="true">
      <path d="M296 62C280 20 210 6 140 10 60 14 12 48 14 98c2 52 72 82 150 80 84-2 146-36 142-88-2-30-30-58-74-72" />
    </svg>
    <div class="strips" aria-hidden="true">
      ${[...WALL, ...WALL.slice(0, 3)].map((name) => html`<img src=${file(`img/wall/${name}.webp`)} alt="" width="400" height="225" />`)}
    </div>
    <div class="pitch"><p>${words.pitch}</p><p>${words.pitchMore}</p></div>
  </section>
`;
