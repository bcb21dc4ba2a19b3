// Whether the window is a small one: what cannot be said in a style sheet asks here.

import { signal } from "../lib.js";

const query = matchMedia("(max-width: 60rem)");

export const isNarrow = signal(query.matches);

query.addEventListener("change", () => (isNarrow.value = query.matches));
