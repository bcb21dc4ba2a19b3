// The bar at the top: search on every page, theme, who is here.

import { html } from "../lib.js";
import { logOut, may, me } from "../api.js";
import { url } from "../root.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { SearchBox } from "../search/box.js";
import { sayProblem } from "../parts/toast.js";
import { chosenTheme, setTheme } from "./theme.js";
import { showShortcuts } from "./shortcuts.js";
import words from "../words/shell.js";

const THEME_ICONS = { system: "settings", light: "sun", dark: "moon" };

export const TopBar = () => html`
  <header class="topbar">
    <a class="brand" href=${url("/")}><${Icon} name="mark" /><span class="word">${words.name}</span></a>
    <${SearchBox} />
    <div class="topbar-end">
      ${may("upload") && html`
        <a class="btn quiet icon-only hide-m" href=${url("/upload")} aria-label=${words.pages.upload}><${Icon} name="upload" /></a>
      `}
      <${ThemeMenu} /><${AccountMenu} />
    </div>
  </header>
`;

const ThemeMenu = () => html`
  <${Menu}
    label=${words.theme(words.themes[chosenTheme.value])} className="btn quiet icon-only"
    button=${html`<${Icon} name=${THEME_ICONS[chosenTheme.value]} />`}
    items=${Object.entries(words.themes).map(([name, label]) => ({
      label, icon: THEME_ICONS[name], isChecked: chosenTheme.value === name, onClick: () => setTheme(name),
    }))}
  />
`;

const AccountMenu = () => html`
  <${Menu}
    className="me"
    button=${html`
      <span class="avatar" aria-hidden="true">${initials(me.value.name)}</span>
      <span class="name hide-m">${me.value.name}</span><span class="sr">${words.account}</span>
    `}
    items=${[
      { label: words.shortcuts, icon: "list", onClick: showShortcuts },
      { label: words.signOut, icon: "user", onClick: () => logOut().catch(sayProblem) },
    ]}
  />
`;

const initials = (name) => name.split(/[\s._-]+/).filter(Boolean).slice(0, 2).map((part) => [...part][0].toUpperCase()).join("");
