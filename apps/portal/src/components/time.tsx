import { type KeyboardEvent, lazy, Suspense, useContext, useEffect, useRef, useState } from 'react';
import { formatShortTime, formatTime, formatZone } from '../language/formats';
import { agoLastsMs, agoText } from './ago';
import styles from './time.module.css';
import type { TimeTipProps } from './time-tip';
import { FocusedRow } from './use-row-focus';

// The largest that a timer takes.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface TimeProps {
  /** RFC 3339 */
  readonly at: string;
  /**
   * `ago`, for lists: how long ago. `short` leaves out the year, where times are compared. Neither is a stop of the tab key; in a
   * table, the focused row shows its times exactly.
   */
  readonly form?: 'long' | 'short' | 'ago';
}

// Nobody points for so long at what the pointer only passes.
const POINTED_AT_MS = 300;

export const loadTimeTip = async () => await import('./time-tip');

const Tip = lazy(async () => {
  // One that could not be loaded is no reason to lose the page.
  const loaded = await loadTimeTip().catch(() => undefined);
  return { default: loaded?.TimeTip ?? Nothing };
});

const Nothing = (_props: TimeTipProps) => null;

/** In the viewer's zone. Pointed at or focused, it tells the time exactly: with its zone, and in UTC, as logs have it. */
export function Time({ at, form = 'long' }: TimeProps) {
  const element = useRef<HTMLElement | null>(null);
  const setElement = (found: HTMLElement | null) => {
    element.current = found;
  };
  const { isPointedAt, handlers } = usePointedAt();
  const isInFocusedRow = useContext(FocusedRow);
  const isOpen = isPointedAt || (isInFocusedRow === true && form !== 'long');
  const time = (
    <time dateTime={at} {...(form !== 'long' && { ref: setElement, ...handlers })}>
      {textOf(form, new Date(at))}
    </time>
  );
  return (
    <>
      {form === 'long' ? (
        <button type="button" ref={setElement} className={styles['trigger']} {...handlers}>
          {time}
        </button>
      ) : (
        time
      )}
      {isOpen && (
        <Suspense fallback={null}>
          {/* What is open without being pointed at is content, which has to be within a landmark. */}
          <Tip
            anchor={element}
            container={isInFocusedRow === undefined ? null : document.getElementById('content')}
          >
            <span>{inZone(new Date(at))}</span>
            <span dir="ltr">{inUtc(at)}</span>
          </Tip>
        </Suspense>
      )}
    </>
  );
}

/** After a moment of pointing, or with the focus; Escape ends it. */
function usePointedAt() {
  const [isPointedAt, setIsPointedAt] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const stop = () => {
    clearTimeout(timer.current);
    setIsPointedAt(false);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const handlers = {
    onPointerEnter: () => {
      timer.current = setTimeout(() => setIsPointedAt(true), POINTED_AT_MS);
    },
    onPointerLeave: stop,
    onFocus: () => setIsPointedAt(true),
    onBlur: stop,
    onKeyDown: ({ key }: KeyboardEvent) => {
      if (key === 'Escape') stop();
    },
  };
  return { isPointedAt, handlers };
}

function textOf(form: TimeProps['form'], at: Date) {
  if (form === 'ago') return <Ago key={at.getTime()} at={at.getTime()} />;
  return form === 'short' ? formatShortTime(at) : formatTime(at);
}

/** Changes by itself, each one alone: the list around it is not drawn again. */
function Ago({ at }: { readonly at: number }) {
  const [now, setNow] = useState(() => new Date().getTime());
  useEffect(() => {
    const lastsMs = Math.min(agoLastsMs(at, now), LONGEST_TIMER_MS);
    const timer = setTimeout(() => setNow(new Date().getTime()), lastsMs);
    return () => clearTimeout(timer);
  }, [at, now]);
  return agoText(at, now);
}

const inZone = (at: Date) => `${formatTime(at)} ${formatZone(at)}`;

const inUtc = (at: string) => `${at.replace('T', ' ').replace('Z', '')} UTC`;
