import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Sparkline } from '../../components/sparkline';
import { formatCount, formatSeconds } from './format';
import { type Operations, type Reading, readingOf } from './operations';
import styles from './operations.module.css';

export interface FiguresProps {
  readonly operations: Operations;
  /** The oldest first. */
  readonly history: readonly Reading[];
}

/** The numbers that say at a glance whether all is well, and how they went since the page was opened. */
export function Figures({ operations, history }: FiguresProps) {
  const { attemptsPerSecond, waiting, oldestWaitingSeconds, held } = readingOf(operations);
  const courseOf = (read: (reading: Reading) => number) => history.map(read);
  return (
    <section className={styles['figures']} aria-label="Now">
      <Figure
        name="Attempts per second"
        value={formatCount(attemptsPerSecond)}
        course={courseOf((reading) => reading.attemptsPerSecond)}
      />
      <Figure name="Waiting" value={formatCount(waiting)} course={courseOf((reading) => reading.waiting)} />
      <Figure
        name="Oldest waiting"
        value={formatSeconds(oldestWaitingSeconds)}
        course={courseOf((reading) => reading.oldestWaitingSeconds)}
      />
      <Figure name="Held" value={formatCount(held)} course={courseOf((reading) => reading.held)} />
      <Figure name="Breakers open" value={formatCount(operations.breakers_open)} />
      <Figure name="Webhooks disabled" value={formatCount(operations.webhooks_disabled)} />
      <Figure
        name="Dead letters"
        value={<Link href="/dead-letters">{formatCount(operations.dead_letters)}</Link>}
      />
    </section>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: ReactNode;
  readonly course?: readonly number[];
}

function Figure({ name, value, course = [] }: FigureProps) {
  const [least, most] = [Math.min(...course), Math.max(...course)];
  const label = `${name}: from ${formatCount(least)} to ${formatCount(most)} since the page was opened`;
  return (
    <div className={styles['figure']}>
      <p className={styles['name']}>{name}</p>
      <p className={styles['value']}>{value}</p>
      {course.length > 1 && <Sparkline values={course} label={label} />}
    </div>
  );
}
