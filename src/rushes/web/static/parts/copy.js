// The same action as a command: for the shell, with curl, and with Python.

import { html, useSignal } from "../lib.js";
import { Icon } from "./icon.js";
import { Tabs } from "./tabs.js";
import { say } from "./toast.js";
import { url } from "../root.js";
import words from "../words/shell.js";

export async function copy(text) {
  if (navigator.clipboard) await navigator.clipboard.writeText(text);
  else copyOldWay(text); // not a secure context
  say(words.copied);
}

/** `commands` maps a label to a text, such as {CLI: "rushes …", curl: curl("GET", "/videos")}. */
export function CopyCommands({ commands }) {
  const names = Object.keys(commands);
  const chosen = useSignal(names[0]);
  const current = names.includes(chosen.value) ? chosen.value : names[0];
  return html`
    <div class="copyas">
      <${Tabs}
        label=${words.copyAs} current=${current} onChange=${(name) => (chosen.value = name)}
        tabs=${names.map((name) => ({ name, label: name }))}
      >
        <pre tabindex="0">${commands[current]}</pre>
      <//>
      <button type="button" class="btn quiet small" onClick=${() => copy(commands[current])}><${Icon} name="copy" />${words.copy}</button>
    </div>
  `;
}

/** A request as a line for a shell; the key comes from the environment. */
export function curl(method, path, body) {
  const sent = body === undefined ? "" : ` \\\n  --json ${quote(JSON.stringify(body))}`;
  const verb = method === "GET" || (method === "POST" && sent) ? "" : ` -X ${method}`;
  return `curl${verb} ${location.origin}${url(`/api${path}`)} \\\n  -H "Authorization: Bearer $RUSHES_KEY"${sent}`;
}

/** A text as one word of a shell. */
export const quote = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

function copyOldWay(text) {
  const area = Object.assign(document.createElement("textarea"), { value: text });
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
