import { t } from '@lingui/core/macro';
import { useEffect } from 'react';
import { formatCountdown, useCountdown } from '../../components/use-countdown';
import styles from './events-page.module.css';

interface CountdownProps {
  readonly until: string;
  /** Where no header says it: `in 1:02:03`. */
  readonly hasIn?: boolean;
}

/** The time until then, updated each second. */
export function Countdown({ until, hasIn = false }: CountdownProps) {
  const seconds = useCountdown(until);
  const time = formatCountdown(seconds);
  const left = hasIn ? t`in ${time}` : time;
  return <span className={styles['countdown']}>{seconds > 0 ? left : t`due`}</span>;
}

// By then a worker has taken it, mostly; if none has, the next look is as far off.
const LOOK_AFTER_MS = 2_000;
// The largest that a timer takes.
const LONGEST_MS = 2 ** 31 - 1;

/** No stream tells that an event was begun: what shows it is read again when it is due. */
export function useReadWhenDue(dueAt: string | null | undefined, read: () => void): void {
  useEffect(() => {
    if (dueAt == null) return undefined;
    const look = () => {
      const waitMs = Math.max(0, Date.parse(dueAt) - new Date().getTime()) + LOOK_AFTER_MS;
      timer = setTimeout(
        () => {
          read();
          look();
        },
        Math.min(waitMs, LONGEST_MS),
      );
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    look();
    return () => clearTimeout(timer);
  }, [dueAt, read]);
}
