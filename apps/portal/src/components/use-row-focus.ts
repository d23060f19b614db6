import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react';
import { rowAfter } from './row-after';

interface RowFocusOptions {
  readonly body: RefObject<HTMLElement | null>;
  readonly count: number;
  readonly scrollTo: (index: number) => void;
}

/** One row of a table is where the tab key comes in; keys move it, also to rows that are not in the page yet. */
export function useRowFocus({ body, count, scrollTo }: RowFocusOptions) {
  const [wanted, setWanted] = useState(0);
  const isMoving = useRef(false);
  const current = Math.min(wanted, count - 1);

  // Until the row is there: it is drawn when it has been scrolled to.
  useEffect(() => {
    if (!isMoving.current) return;
    const row = body.current?.querySelector<HTMLElement>(`[data-index="${current}"]`);
    if (!row) return;
    isMoving.current = false;
    row.focus({ preventScroll: true });
  });

  const onKeyDown = (event: KeyboardEvent<HTMLElement>) => {
    const next = rowAfter(event.key, current, count);
    if (next === undefined) return;
    event.preventDefault();
    isMoving.current = true;
    setWanted(next);
    scrollTo(next);
  };

  const isAmong = (items: readonly { readonly index: number }[]) =>
    items.some(({ index }) => index === current);

  return { current, isAmong, onKeyDown, onFocus: setWanted };
}
