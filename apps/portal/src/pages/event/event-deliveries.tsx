import { useMemo } from 'react';
import { Section } from '../../components/section';
import { DeliveryTable } from '../deliveries/delivery-table';

/** Where an event went, and what became of it there. */
export function EventDeliveries({ eventId }: { readonly eventId: string }) {
  const filters = useMemo(() => ({ event_id: eventId }), [eventId]);
  return (
    <Section title="Where it went">
      <DeliveryTable
        label="Deliveries"
        filters={filters}
        hint="No webhook asked for it when it was published."
      />
    </Section>
  );
}
