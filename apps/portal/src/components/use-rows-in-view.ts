import { useMemo, useSyncExternalStore } from 'react';

/** Rows beyond the edges of the window that are in the page too, so that scrolling shows no gap. */
const OVERSCAN = 10;
/** So many rows are always in the page: a short list is whole, for search, print and screen readers. */
const FEWEST = 20;
/** Of which the page is drawn where there is no window. */
const WITHOUT_WINDOW_PX = 1_000;

export interface RowsOptions {
  readonly count: number;
  /** Of each row. Pixels, as is `top`. */
  readonly height: number;
  /** Where the first row begins, from the top of the page. */
  readonly top: number;
}

/** Those from the first up to the end, which is not among them. */
export interface RowsInView {
  readonly first: number;
  readonly end: number;
}

/** The part of a long list, whose rows are all of one height, that is in view while the page scrolls. */
export function useRowsInView({ count, height, top }: RowsOptions): RowsInView {
  // As a number: one that is the same draws nothing again.
  const firstSeen = useSyncExternalStore(
    watchWindow,
    () => Math.floor((window.scrollY - top) / height),
    () => 0,
  );
  const seen = useSyncExternalStore(
    watchWindow,
    () => Math.ceil(window.innerHeight / height) + 1,
    () => Math.ceil(WITHOUT_WINDOW_PX / height),
  );
  return useMemo(() => rowsAround({ firstSeen, seen, count }), [firstSeen, seen, count]);
}

interface SeenRows {
  /** May be before the list, or behind it. */
  readonly firstSeen: number;
  readonly seen: number;
  readonly count: number;
}

export function rowsAround({ firstSeen, seen, count }: SeenRows): RowsInView {
  const first = Math.min(Math.max(firstSeen - OVERSCAN, 0), Math.max(count - FEWEST, 0));
  return { first, end: Math.min(Math.max(firstSeen + seen + OVERSCAN, first + FEWEST), count) };
}

function watchWindow(onChange: () => void): () => void {
  const signal = new AbortController();
  for (const type of ['scroll', 'resize']) {
    window.addEventListener(type, onChange, { passive: true, signal: signal.signal });
  }
  return () => signal.abort();
}

/** Scrolls no further than it takes to see the row. */
export function scrollToRow(index: number, { height, top }: Pick<RowsOptions, 'height' | 'top'>): void {
  const start = top + index * height;
  if (start < window.scrollY) window.scrollTo({ top: start });
  else if (start + height > window.scrollY + window.innerHeight)
    window.scrollTo({ top: start + height - window.innerHeight });
}
