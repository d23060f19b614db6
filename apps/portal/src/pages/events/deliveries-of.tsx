import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { ListedEvent } from '../../api/event-queries';
import { Badge } from '../../components/badge';
import { formatRow } from '../../language/formats';
import { countOf, statuses } from '../deliveries/words';
import styles from './events-page.module.css';

// Those that somebody has to look at first: they are seen although the cell is cut.
const SHOWN = ['exhausted', 'aborted', 'held', 'pending', 'delivered', 'superseded', 'cancelled'] as const;

/** The state of an event in a list: how many of its deliveries are in each status, or why it has none. */
export function DeliveriesOf({ event }: { readonly event: ListedEvent }) {
  const { status, payload_erased_at: erasedAt } = event;
  return (
    <span className={styles['states']}>
      {status === 'cancelled' && (
        <Badge tone="neutral">
          <Trans context="event">Cancelled</Trans>
        </Badge>
      )}
      {status !== 'cancelled' && <Counts event={event} />}
      {erasedAt && (
        <Badge tone="neutral">
          <Trans>Erased</Trans>
        </Badge>
      )}
    </span>
  );
}

type Counted = NonNullable<ListedEvent['deliveries']>;

const shownOf = (deliveries: Counted) => SHOWN.filter((status) => deliveries[status] > 0);

/** On phones, where one badge has room: the others. */
export function otherCounts({ deliveries }: ListedEvent): string {
  const [, ...others] = deliveries ? shownOf(deliveries) : [];
  return formatRow(others.map((status) => countOf(status, deliveries?.[status] ?? 0)));
}

function Counts({ event: { deliveries, delivery_count: count } }: { readonly event: ListedEvent }) {
  if (count === 0) return t`no webhook wanted it`;
  if (!deliveries) return plural(count, { one: '# webhook', other: '# webhooks' });
  return shownOf(deliveries).map((status) => {
    const [, tone] = statuses[status];
    return (
      <Badge key={status} tone={tone}>
        {countOf(status, deliveries[status])}
      </Badge>
    );
  });
}
