import { useMemo } from 'react';
import { Section } from '../../components/section';
import { DeliveryTable } from '../deliveries/delivery-table';

/** The deliveries of a webhook, kept up to date. */
export function WebhookDeliveries({ webhookId }: { readonly webhookId: string }) {
  const filters = useMemo(() => ({ webhook_id: webhookId }), [webhookId]);
  return (
    <Section title="Deliveries">
      <DeliveryTable label="Deliveries" filters={filters} hint="No event of its types was published yet." />
    </Section>
  );
}
