import { createContext, type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react';
import { rowAfter } from './row-after';

/** Whether the row around has the focus, by the keyboard. undefined: there is no row around. */
export const FocusedRow = createContext<boolean | undefined>(undefined);

/** Names the link of a row, which has the focus in its place. */
export const ROW_LINK = 'data-row-link';

interface RowFocusOptions {
  readonly body: RefObject<HTMLElement | null>;
  readonly count: number;
  /** The id of the row that a link leads to, and where it is; -1: it is not there, or not yet. */
  readonly marked: string | undefined;
  readonly markedAt: number;
  readonly scrollTo: (index: number) => void;
}

/** One row of a table is where the tab key comes in; keys move it, also to rows that are not in the page yet. */
export function useRowFocus({ body, count, marked, markedAt, scrollTo }: RowFocusOptions) {
  const [wanted, setWanted] = useState(0);
  const movesTo = useRef<number>(undefined);
  const led = useRef<string>(undefined);
  const current = Math.min(wanted, count - 1);

  const goTo = (index: number) => {
    movesTo.current = index;
    setWanted(index);
    scrollTo(index);
  };

  // Once to each row that a link leads to: it may come late, and others above it later still.
  useEffect(() => {
    if (marked === undefined || markedAt < 0 || led.current === marked) return;
    led.current = marked;
    goTo(markedAt);
  });

  // Until the row is there: it is drawn when it has been scrolled to.
  useEffect(() => {
    if (movesTo.current === undefined) return;
    const row = body.current?.querySelector<HTMLElement>(`[data-index="${movesTo.current}"]`);
    if (!row) return;
    movesTo.current = undefined;
    const link = row.querySelector<HTMLElement>(`[${ROW_LINK}]`);
    (link ?? row).focus({ preventScroll: true });
  });

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const next = rowAfter(event.key, current, count);
    if (next === undefined) return;
    event.preventDefault();
    goTo(next);
  };

  const isAmong = (first: number, end: number) => first <= current && current < end;

  return { current, isAmong, onKeyDown, onFocus: setWanted };
}
