import { Section } from '../../components/section';
import { formatCount } from './format';
import type { Operations } from './operations';
import styles from './operations.module.css';

export interface HeldReasonsProps {
  readonly operations: Operations;
}

/** Why deliveries are held rather than sent. */
export function HeldReasons({ operations: { held, held_by_reason: byReason } }: HeldReasonsProps) {
  const reasons = Object.entries(byReason)
    .filter(([, count]) => count > 0)
    .toSorted(([, one], [, other]) => other - one);
  return (
    <Section title="Held deliveries">
      {reasons.length === 0 && <p className={styles['note']}>None is held.</p>}
      <ul className={styles['reasons']}>
        {reasons.map(([reason, count]) => (
          <li key={reason}>
            <span>{reason.replaceAll('_', ' ')}</span>
            <span className={styles['number']}>{formatCount(count)}</span>
            <meter aria-label={`Held: ${reason.replaceAll('_', ' ')}`} max={held} value={count} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
