import { useLiveStatus } from './live-context';
import type { LiveStatus } from './live-feed';
import styles from './live-indicator.module.css';

const TEXTS: Readonly<Record<LiveStatus, readonly [label: string, title: string]>> = {
  live: ['Live', 'Changes are shown as they happen'],
  connecting: ['Connecting', 'Not connected yet: the page checks for changes every 5 seconds'],
  polling: ['Not live', 'There is no stream of changes: the page checks for changes every 5 seconds'],
  paused: ['Not live', 'The page checks for changes once there is a session and the page is in view'],
};

/** Shows whether the page is up to date. */
export function LiveIndicator() {
  const status = useLiveStatus();
  const [label, title] = TEXTS[status];
  return (
    <output title={title} className={`${styles['indicator']} ${styles[status]}`}>
      {label}
    </output>
  );
}
