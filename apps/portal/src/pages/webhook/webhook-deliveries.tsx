import { useMemo } from 'react';
import { Section } from '../../components/section';
import { DeliveryTable } from '../deliveries/delivery-table';

/** What was and is to be sent to a webhook, as it changes. */
export function WebhookDeliveries({ webhookId }: { readonly webhookId: string }) {
  const filters = useMemo(() => ({ webhook_id: webhookId }), [webhookId]);
  return (
    <Section title="Deliveries">
      <DeliveryTable label="Deliveries" filters={filters} hint="No event of its types was published yet." />
    </Section>
  );
}
