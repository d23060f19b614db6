import type { Delivery, DeliveryFilters } from '../../api/delivery-queries';
import { type Column, timeWidth } from '../../components/data-table';
import { Time } from '../../components/time';
import styles from './delivery-table.module.css';
import { responseOf } from './response-of';
import { StatusBadge } from './status-badge';

/**
 * What tells the deliveries of a list apart: those of an event by their webhooks, those to a webhook by their types.
 * @param names of webhooks, by id; one that is not there is shown by its id
 */
export function deliveryColumns(
  { webhook_id: ofWebhook, event_id: ofEvent }: DeliveryFilters,
  names: ReadonlyMap<string, string>,
): readonly Column<Delivery>[] {
  const webhook: Column<Delivery> = {
    id: 'webhook',
    header: 'Webhook',
    cell: ({ webhook_id: id }) => (
      <span className={styles['webhook']} title={id}>
        {names.get(id) ?? id}
      </span>
    ),
  };
  const type: Column<Delivery> = { id: 'type', header: 'Event type', cell: (row) => row.event_type };
  const [status, response, attempts, ...times] = COLUMNS;
  if (ofEvent !== undefined) return [status, webhook, response, attempts, ...times];
  if (ofWebhook !== undefined) return [status, type, response, attempts, ...times];
  return [status, type, response, attempts, { ...webhook, width: '232px', from: 'wide' }, ...times];
}

const COLUMNS = [
  {
    id: 'status',
    header: 'Status',
    width: 'clamp(104px, 28vw, 120px)',
    cell: ({ status }) => <StatusBadge status={status} />,
  },
  {
    id: 'response',
    header: 'Last response',
    width: '152px',
    from: 'medium',
    cell: (row) => responseOf(row) ?? '–',
  },
  { id: 'attempts', header: 'Attempts', width: '80px', from: 'wide', cell: (row) => row.attempt_count },
  {
    id: 'next',
    header: 'Next attempt',
    width: '144px',
    from: 'wide',
    cell: ({ next_attempt_at: at }) => (at === null ? '–' : <Time at={at} form="short" />),
  },
  {
    id: 'created',
    header: 'Accepted',
    width: timeWidth('144px'),
    cell: (row) => <Time at={row.created_at} form="short" />,
  },
] as const satisfies readonly Column<Delivery>[];
