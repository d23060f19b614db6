import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { useMemo } from 'react';
import { Section } from '../../components/section';
import { DeliveryTable } from '../deliveries/delivery-table';

interface WebhookDeliveriesProps {
  readonly webhook: Pick<components['schemas']['Webhook'], 'id' | 'filter'>;
}

/** The deliveries of a webhook, kept up to date. */
export function WebhookDeliveries({ webhook: { id, filter } }: WebhookDeliveriesProps) {
  const filters = useMemo(() => ({ webhook_id: id }), [id]);
  return (
    <Section title={t`Deliveries`}>
      <DeliveryTable label={t`Deliveries`} filters={filters} hint={hintFor(filter)} />
    </Section>
  );
}

/** Why there may be none. Nothing is recorded of events that a filter leaves out. */
export function hintFor(filter: unknown): string {
  return filter == null
    ? t`No event of its types was published since it was registered.`
    : t`No event of its types was published since it was registered, or its filter let none pass. The page of each event says why it was not sent here.`;
}
