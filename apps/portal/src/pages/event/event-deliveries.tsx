import { useMemo } from 'react';
import { Section } from '../../components/section';
import { DeliveryTable } from '../deliveries/delivery-table';

interface EventDeliveriesProps {
  readonly eventId: string;
  /** What to say when it went nowhere. */
  readonly hint: string;
}

/** Where an event went, and what became of it there. */
export function EventDeliveries({ eventId, hint }: EventDeliveriesProps) {
  const filters = useMemo(() => ({ event_id: eventId }), [eventId]);
  return (
    <Section title="Where it went">
      <DeliveryTable label="Deliveries" filters={filters} hint={hint} />
    </Section>
  );
}
