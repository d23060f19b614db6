import { t } from '@lingui/core/macro';
import { useEffect, useState } from 'react';
import { Tip } from '../components/tip';
import { useLiveStatus } from './live-context';
import type { LiveStatus } from './live-feed';
import styles from './live-indicator.module.css';
import { useHasOld } from './outage-notice';

type Shown = 'live' | 'connecting' | 'lost' | 'polling' | 'none';

const TEXTS: Readonly<Record<Shown, readonly [label: string, meaning: string]>> = {
  live: [t`Live`, t`Changes are shown as they happen`],
  connecting: [t`Connecting`, t`Not connected yet: the page checks for changes every 5 seconds`],
  lost: [
    t`Not live`,
    t`The connection was lost: the page checks for changes every 5 seconds, and connects again by itself`,
  ],
  polling: [t`Not live`, t`There is no stream of changes: the page checks for changes every 5 seconds`],
  none: ['', ''],
};

// Most pages are connected by then: there is nothing to tell.
const CONNECTS_WITHIN_MS = 3_000;

/** Shows whether the page is up to date. */
export function LiveIndicator() {
  const status = useLiveStatus();
  const hasOld = useHasOld();
  const [wasLive, setWasLive] = useState(false);
  if (status === 'live' && !wasLive) setWasLive(true);
  const isLate = useIsLate(status === 'connecting' && !wasLive);
  const shown = shownOf(status, { hasOld, wasLive, isLate });
  const [label, meaning] = TEXTS[shown];
  return (
    <output className={`${styles['indicator']} ${styles[shown]}`}>
      {label !== '' && (
        <Tip tip={meaning} description={meaning} isStop>
          {label}
        </Tip>
      )}
    </output>
  );
}

interface Standing {
  /** The stream is there, but what the page reads is not. */
  readonly hasOld: boolean;
  readonly wasLive: boolean;
  readonly isLate: boolean;
}

function shownOf(status: LiveStatus, { hasOld, wasLive, isLate }: Standing): Shown {
  if (status === 'polling' || status === 'paused') return 'polling';
  if (status === 'live') return hasOld ? 'lost' : 'live';
  if (wasLive) return 'lost';
  return isLate ? 'connecting' : 'none';
}

/** True once `isOn` has lasted. */
function useIsLate(isOn: boolean): boolean {
  const [isLate, setIsLate] = useState(false);
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setTimeout(() => setIsLate(true), CONNECTS_WITHIN_MS);
    return () => {
      clearTimeout(timer);
      setIsLate(false);
    };
  }, [isOn]);
  return isLate;
}
