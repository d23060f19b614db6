import { useEffect, useState } from 'react';
import { formatShortTime, formatTime, formatZone } from '../language/formats';
import { agoLastsMs, agoText } from './ago';
import styles from './time.module.css';
import { Tip } from './tip';

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

/** In the viewer's zone. Pointed at or focused, it tells the time exactly: with its zone, and in UTC, as logs have it. */
export function Time({ at, form = 'long' }: TimeProps) {
  const exact = (
    <>
      <span className={styles['exact']}>{inZone(new Date(at))}</span>
      <span className={styles['exact']} dir="ltr">
        {inUtc(at)}
      </span>
    </>
  );
  return (
    <Tip tip={exact} isStop={form === 'long'}>
      <time dateTime={at} className={styles['time']}>
        {textOf(form, new Date(at))}
      </time>
    </Tip>
  );
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
