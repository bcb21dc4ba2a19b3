// What stands around every page; without a login, the login alone.

import { html, useEffect } from "../lib.js";
import { me } from "../api.js";
import { connection } from "../live.js";
import { go, place } from "../router.js";
import { Toasts } from "../parts/toast.js";
import { Icon } from "../parts/icon.js";
import { Page, routeOf } from "./page.js";
import { Side, TabBar } from "./navigation.js";
import { TopBar } from "./topbar.js";
import { DropZone } from "./drop.js";
import { Shortcuts } from "./shortcuts.js";
import { Tray } from "./tray.js";
import words from "../words/shell.js";

export function App() {
  const isLogin = routeOf(place.value.path)?.name === "login";
  useEffect(() => {
    if (me.value || isLogin) return;
    const next = place.value.path + location.search;
    go(`/login${next === "/" ? "" : `?next=${encodeURIComponent(next)}`}`, { replace: true });
  }, [me.value, isLogin]);
  if (isLogin) return html`<div class="login"><${Page} /></div><${Toasts} />`;
  return me.value && html`<${Shell} />`;
}

const Shell = () => html`
  <div class=${routeOf(place.value.path)?.name === "video" ? "shell shell-rail" : "shell"}>
    <a class="skip" href="#main">${words.skip}</a>
    <${TopBar} /><${Side} />
    <main class="page" id="main" tabindex="-1"><${Away} /><${Page} /></main>
    <${Tray} /><${TabBar} />
  </div>
  <${Toasts} /><${DropZone} /><${Shortcuts} />
`;

/** Says that the server is away; the page keeps what it last knew. */
const Away = () => connection.value === "away" && html`
  <p class="away" role="status"><${Icon} name="warning" small />${words.awayNow}</p>
`;
