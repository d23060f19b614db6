import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { Section } from '../../components/section';
import { formatCount } from '../../language/formats';
import { holdWords } from '../deliveries/hold-words';
import overview from '../overview/overview.module.css';
import type { Operations } from './operations';
import styles from './operations.module.css';

type Reason = keyof Operations['held_by_reason'];

/** The place of the list in the page. */
export const HELD_DELIVERIES = 'held-deliveries';

export interface HeldReasonsProps {
  readonly operations: Operations;
}

/** Why deliveries are held rather than sent. */
export function HeldReasons({ operations: { held, held_by_reason: byReason } }: HeldReasonsProps) {
  const reasons = (Object.keys(holdWords) as Reason[])
    .filter((reason) => byReason[reason] > 0)
    .toSorted((one, other) => byReason[other] - byReason[one]);
  return (
    <Section title={t`Held deliveries`} id={HELD_DELIVERIES}>
      <p className={styles['note']}>
        {held === 0 ? (
          <Trans>No delivery is held.</Trans>
        ) : (
          <Trans>
            <Plural value={held} one="# delivery is held" other="# deliveries are held" />: no attempt is made
            until the reason is gone. All of a webhook count for the reason of the latest one.
          </Trans>
        )}
      </p>
      <ul className={overview['responses']}>
        {reasons.map((reason) => (
          <li key={reason}>
            <span>{holdWords[reason].their}</span>
            <span className={overview['number']}>{formatCount(byReason[reason])}</span>
            <meter aria-label={holdWords[reason].their} max={held} value={byReason[reason]} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
