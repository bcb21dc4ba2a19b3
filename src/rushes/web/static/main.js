// The page begins here: ask who is there, then show what they may see.

import { effect, html, render } from "./lib.js";
import { me, whoAmI } from "./api.js";
import { start } from "./live.js";
import { follow } from "./store.js";
import { App } from "./shell/app.js";

let isFollowing = false;

effect(() => {
  if (!me.value || isFollowing) return;
  isFollowing = true;
  start();
  follow();
});

await whoAmI().catch(() => (me.value = null));
render(html`<${App} />`, document.body);
