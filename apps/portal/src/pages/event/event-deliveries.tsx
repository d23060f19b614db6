import { t } from '@lingui/core/macro';
import { useMemo } from 'react';
import { Section } from '../../components/section';
import { DeliveryTable } from '../deliveries/delivery-table';

interface EventDeliveriesProps {
  readonly eventId: string;
  /** Shown if the event has no deliveries. */
  readonly hint: string;
}

/** The deliveries of an event, with their results. */
export function EventDeliveries({ eventId, hint }: EventDeliveriesProps) {
  const filters = useMemo(() => ({ event_id: eventId }), [eventId]);
  return (
    <Section title={t`Where it went`}>
      <DeliveryTable label={t`Deliveries`} filters={filters} hint={hint} />
    </Section>
  );
}
