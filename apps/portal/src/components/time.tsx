import { Tooltip } from '@base-ui/react/tooltip';
import { useContext, useEffect, useState } from 'react';
import { agoLastsMs, agoText } from './ago';
import styles from './time.module.css';
import { FocusedRow } from './use-row-focus';

const long = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
// As in `long`: one form of clock in all pages.
const clock = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit', second: '2-digit' });
const zone = new Intl.DateTimeFormat(undefined, { timeZoneName: 'short' });
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
  const [isPointedAt, setIsPointedAt] = useState(false);
  const isInFocusedRow = useContext(FocusedRow);
  const time = <time dateTime={at}>{textOf(form, new Date(at))}</time>;
  return (
    <Tooltip.Root
      open={isPointedAt || (isInFocusedRow === true && form !== 'long')}
      onOpenChange={setIsPointedAt}
    >
      {form === 'long' ? (
        <Tooltip.Trigger className={styles['trigger']}>{time}</Tooltip.Trigger>
      ) : (
        <Tooltip.Trigger render={time} />
      )}
      {/* What is open without being pointed at is content, which has to be within a landmark. */}
      <Tooltip.Portal
        container={isInFocusedRow === undefined ? undefined : document.getElementById('content')}
      >
        <Tooltip.Positioner sideOffset={4} className={styles['positioner']}>
          <Tooltip.Popup className={styles['popup']}>
            <span>{inZone(new Date(at))}</span>
            <span>{inUtc(at)}</span>
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}

function textOf(form: TimeProps['form'], at: Date) {
  if (form === 'ago') return <Ago key={at.getTime()} at={at.getTime()} />;
  return form === 'short' ? `${day.format(at)}, ${clock.format(at)}` : long.format(at);
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

function inZone(at: Date): string {
  const name = zone.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? '';
  return `${long.format(at)} ${name}`;
}

const inUtc = (at: string) => `${at.replace('T', ' ').replace('Z', '')} UTC`;
