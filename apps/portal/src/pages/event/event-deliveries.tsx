import { t } from '@lingui/core/macro';
import { useMemo } from 'react';
import { Section } from '../../components/section';
import { DeliveryTable } from '../deliveries/delivery-table';

interface EventDeliveriesProps {
  readonly eventId: string;
  /** Shown if the event has no deliveries. */
  readonly hint: string;
  /** How many there are; `undefined`: it is not known. */
  readonly count: number | undefined;
}

// None is said in as many lines.
const ROWS_OF_NONE = 3;
const MOST_ROWS = 20;

/** The deliveries of an event, with their results. */
export function EventDeliveries({ eventId, hint, count }: EventDeliveriesProps) {
  const filters = useMemo(() => ({ event_id: eventId }), [eventId]);
  const expected = count === undefined ? undefined : Math.min(count || ROWS_OF_NONE, MOST_ROWS);
  return (
    <Section title={t`Where it went`}>
      <DeliveryTable label={t`Deliveries`} filters={filters} hint={hint} expected={expected} />
    </Section>
  );
}
