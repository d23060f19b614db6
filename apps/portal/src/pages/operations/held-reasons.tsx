import { t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
import { Section } from '../../components/section';
import { formatCount } from '../../language/formats';
import overview from '../overview/overview.module.css';
import type { Operations } from './operations';
import styles from './operations.module.css';

type Reason = keyof Operations['held_by_reason'];

/** The place of the list in the page. */
export const HELD_DELIVERIES = 'held-deliveries';

/** Not with `hold-words.ts`: that would be one file more for each page to know of. */
const REASONS: Readonly<Record<Reason, string>> = {
  disabled: t`Their webhook is disabled`,
  unverified: t`Their webhook is not verified yet`,
  breaker_open: t`Their webhook keeps failing`,
  rate_limited: t`The rate limit of their webhook is reached`,
  ordering: t`The delivery before them has not ended`,
  no_token: t`The token URL of their webhook gives no access token`,
  batching: t`They wait for other events to go with`,
  busy: t`Their webhook takes no more requests at once`,
};

export interface HeldReasonsProps {
  readonly operations: Operations;
}

/** Why deliveries are held rather than sent. */
export function HeldReasons({ operations: { held, held_by_reason: byReason } }: HeldReasonsProps) {
  const reasons = (Object.keys(REASONS) as Reason[])
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
            <span>{REASONS[reason]}</span>
            <span className={overview['number']}>{formatCount(byReason[reason])}</span>
            <meter aria-label={REASONS[reason]} max={held} value={byReason[reason]} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
