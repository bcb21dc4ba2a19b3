// Every file of the version that plays.

import { html, useEffect, useSignal } from "../lib.js";
import { get } from "../api.js";
import { bytes, plural } from "../format.js";
import { CopyCommands, curl } from "../parts/copy.js";
import { List } from "../parts/list.js";
import { ProblemNote } from "../parts/problem.js";
import all from "../words/video.js";

const words = all.files;
const ROW_PX = 36;

export function Files({ video }) {
  const files = useSignal(null);
  const problem = useSignal(null);
  const path = `/videos/${video.asset_id}/files`;
  const read = () => get(path).then(({ items }) => (files.value = items), (found) => (problem.value = found));
  useEffect(() => void read(), [video.asset_id, video.version]);
  if (problem.value) return html`<${ProblemNote} problem=${problem.value} again=${read} />`;
  if (!files.value) return null;
  const sum = files.value.reduce((total, file) => total + file.bytes, 0);
  return html`
    <p class="dim num">${files.value.length ? words.sum(plural(files.value.length, words.files), bytes(sum)) : words.none}</p>
    <${List} items=${files.value} rowHeight=${ROW_PX} className="filelist" label=${all.tabs.files} render=${(file) => html`<${Line} key=${file.name} file=${file} />`} />
    <${CopyCommands} commands=${{ curl: curl("GET", path) }} />
  `;
}

const Line = ({ file }) => html`
  <li><code>${file.name}</code><span class="num">${bytes(file.bytes)}</span><code class="faint">${file.sha256.slice(0, 12)}</code></li>
`;
