import { t } from '@lingui/core/macro';
import { Link } from 'wouter';
import { Sparkline } from '../../components/sparkline';
import { formatCount, formatMs, formatNumber } from '../../language/formats';
import { STOPPED_WEBHOOKS, type State } from './failing-webhooks';
import { HELD_DELIVERIES } from './held-reasons';
import { type Operations, type Reading, readingOf } from './operations';
import styles from './operations.module.css';
import { QUEUES } from './queues';

export interface FiguresProps {
  readonly operations: Operations;
  /** The oldest first. */
  readonly history: readonly Reading[];
  /** Lets the list of stopped webhooks show those of this state. */
  readonly onStopped: (state: State) => void;
}

/**
 * The numbers that say at a glance whether all is well, and how they went since the page was opened. Each one that is a link
 * leads to as many as it says.
 */
export function Figures({ operations, history, onStopped }: FiguresProps) {
  const { attemptsPerSecond, waiting, oldestWaitingSeconds, held } = readingOf(operations);
  const courseOf = (read: (reading: Reading) => number) => history.map(read);
  const { breakers_open: failing, webhooks_disabled: disabled, dead_letters: deadLetters } = operations;
  return (
    <section className={styles['figures']} aria-label={t`Now`}>
      <Figure
        name={t`Attempts per second`}
        value={formatNumber(attemptsPerSecond)}
        course={courseOf((reading) => reading.attemptsPerSecond)}
      />
      <Figure
        name={t`Jobs waiting`}
        value={formatCount(waiting)}
        href={`#${QUEUES}`}
        course={courseOf((reading) => reading.waiting)}
      />
      <Figure
        name={t`Oldest waiting job`}
        value={formatMs(1_000 * oldestWaitingSeconds)}
        course={courseOf((reading) => reading.oldestWaitingSeconds)}
      />
      <Figure
        name={t`Deliveries held`}
        value={formatCount(held)}
        href={`#${HELD_DELIVERIES}`}
        course={courseOf((reading) => reading.held)}
      />
      <Figure
        name={t`Webhooks paused after failures`}
        value={formatCount(failing)}
        href={`#${STOPPED_WEBHOOKS}`}
        onOpen={() => onStopped('breaker_open')}
      />
      <Figure
        name={t`Webhooks disabled`}
        value={formatCount(disabled)}
        href={`#${STOPPED_WEBHOOKS}`}
        onOpen={() => onStopped('disabled')}
      />
      <Figure name={t`Dead letters`} value={formatCount(deadLetters)} href="/dead-letters" />
    </section>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  /** Of the page, or of a part of this one (`#…`), that has as many. */
  readonly href?: string;
  readonly onOpen?: () => void;
  readonly course?: readonly number[];
}

function Figure({ name, value, href, onOpen, course = [] }: FigureProps) {
  const [least, most] = [formatNumber(Math.min(...course)), formatNumber(Math.max(...course))];
  const label = t`${name}: from ${least} to ${most} since the page was opened`;
  return (
    <div className={styles['figure']}>
      <p className={styles['name']}>{name}</p>
      <p className={styles['value']}>{href === undefined ? value : linkTo(href, value, onOpen)}</p>
      {course.length > 1 && <Sparkline values={course} label={label} />}
    </div>
  );
}

// Within the page the browser goes there itself.
function linkTo(href: string, value: string, onOpen?: () => void) {
  return href.startsWith('#') ? (
    <a href={href} onClick={onOpen}>
      {value}
    </a>
  ) : (
    <Link href={href}>{value}</Link>
  );
}
