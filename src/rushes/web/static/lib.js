// The three libraries of the page, under one name.

import { h, render, Fragment } from "./vendor/preact.mjs";
import { useEffect, useLayoutEffect, useRef, useMemo, useId, useCallback, useErrorBoundary } from "./vendor/preact-hooks.mjs";
import { signal, computed, effect, batch, useSignal, useComputed, useSignalEffect } from "./vendor/signals.mjs";
import htm from "./vendor/htm.mjs";

export const html = htm.bind(h);
export {
  render, Fragment,
  useEffect, useLayoutEffect, useRef, useMemo, useId, useCallback, useErrorBoundary,
  signal, computed, effect, batch, useSignal, useComputed, useSignalEffect,
};
