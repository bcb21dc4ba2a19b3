// The search box of every page. It suggests how a word goes on; on the search page it asks while you type.

import { html, signal, useEffect, useId, useRef, useSignal } from "../lib.js";
import { get } from "../api.js";
import { go, place, setQuery } from "../router.js";
import { url } from "../root.js";
import { Icon } from "../parts/icon.js";
import { completed } from "./question.js";
import words from "../words/shell.js";

const TYPED_MS = 150;
const MOST = 8;

/** Somebody pressed Enter: they want to be at the first moment as soon as it is found. */
export const wantsHits = signal(false);

export function SearchBox() {
  const input = useRef(null);
  const id = useId();
  const suggestions = useSignal([]);
  const chosen = useSignal(-1);
  const isHere = place.value.path === "/search";
  const asked = (isHere && place.value.query.q) || "";
  const typing = useTyping((text) => {
    if (place.value.path === "/search") setQuery({ q: text || null });
  }, suggestions, chosen);

  useEffect(() => {
    if (document.activeElement !== input.current) input.current.value = asked;
  }, [asked]);
  const close = () => {
    typing.stop();
    suggestions.value = [];
    chosen.value = -1;
  };
  const take = (word) => {
    input.current.value = completed(input.current.value, word);
    close();
    typing.now(input.current.value);
  };
  const submit = (event) => {
    event.preventDefault();
    if (chosen.value >= 0) return take(suggestions.value[chosen.value]);
    const q = input.current.value.trim();
    close();
    if (!q) return undefined;
    wantsHits.value = true;
    return isHere ? setQuery({ q }) : go(`/search?q=${encodeURIComponent(q)}`);
  };
  const onKey = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && suggestions.value.length) close();
    else if (step && suggestions.value.length) chosen.value = ((chosen.value + step + 1 + suggestions.value.length + 1) % (suggestions.value.length + 1)) - 1;
    else if (step === 1 && isHere) document.querySelector(".hit .play")?.focus();
    else return;
    event.preventDefault();
  };
  const isOpen = suggestions.value.length > 0;
  return html`
    <form class="searchbox" role="search" action=${url("/search")} onSubmit=${submit}>
      <${Icon} name="search" />
      <input
        type="search" name="q" id="search" ref=${input} role="combobox" aria-label=${words.search} placeholder=${words.searchPlaceholder} defaultValue=${asked}
        maxlength="500" autocomplete="off" spellcheck="false" aria-autocomplete="list" aria-expanded=${isOpen} aria-controls=${isOpen ? id : undefined}
        aria-activedescendant=${chosen.value >= 0 ? `${id}-${chosen.value}` : undefined}
        onInput=${(event) => typing.soon(event.target.value)} onKeyDown=${onKey} onBlur=${close}
      />
      <kbd aria-hidden="true">${words.keys[1][0]}</kbd>
      ${isOpen && html`
        <ul class="suggestions" role="listbox" id=${id} aria-label=${words.suggestions}>
          ${suggestions.value.map((word, at) => html`
            <li role="option" id=${`${id}-${at}`} aria-selected=${at === chosen.value} dir="auto" onPointerDown=${(event) => (event.preventDefault(), take(word))}>${word}</li>
          `)}
        </ul>
      `}
    </form>
  `;
}

/** Waits until somebody stops typing, then asks; what was asked before is ended. */
function useTyping(ask, suggestions, chosen) {
  const state = useRef({ timer: null, abort: null }).current;
  const stop = () => {
    clearTimeout(state.timer);
    state.abort?.abort();
  };
  const suggest = async (text) => {
    state.abort = new AbortController();
    const found = /\S$/.test(text) ? await get("/search/suggest", { q: text, limit: MOST }, state.abort.signal).catch(() => null) : { items: [] };
    const last = text.split(/[\s"]/).at(-1).toLowerCase();
    if (found && document.activeElement?.id === "search") {
      const word = suggestions.value[chosen.value];
      suggestions.value = found.items.filter((one) => one !== last);
      chosen.value = suggestions.value.indexOf(word); // what somebody went to stays chosen
    }
  };
  useEffect(() => stop, []);
  return {
    stop,
    now: ask,
    soon: (text) => {
      stop();
      state.timer = setTimeout(() => {
        ask(text.trim());
        suggest(text);
      }, TYPED_MS);
    },
  };
}
