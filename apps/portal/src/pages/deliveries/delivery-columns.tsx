import { t } from '@lingui/core/macro';
import type { Delivery, DeliveryFilters } from '../../api/delivery-queries';
import { AGO_WIDTH, type Column } from '../../components/data-table';
import { shortId } from '../../components/short-id';
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
  const nameOf = ({ webhook_id: id }: Delivery) => names.get(id) ?? shortId(id);
  const webhook: Column<Delivery> = {
    id: 'webhook',
    header: t`Webhook`,
    cell: (row) => <span className={styles['webhook']}>{nameOf(row)}</span>,
  };
  const type: Column<Delivery> = {
    id: 'type',
    header: t`Event type`,
    isName: true,
    cell: (row) => row.event_type,
  };
  const [status, response, attempts, ...times] = COLUMNS;
  if (ofEvent !== undefined) return [status, { ...webhook, isName: true }, response, attempts, ...times];
  if (ofWebhook !== undefined) return [status, type, response, attempts, ...times];
  return [
    status,
    { ...type, second: nameOf },
    response,
    attempts,
    { ...webhook, width: '26%', from: 'medium' },
    ...times,
  ];
}

const COLUMNS = [
  {
    id: 'status',
    header: t`Status`,
    // The longest word for a status, in any language.
    width: 'clamp(124px, 12vw, 144px)',
    cell: ({ status }) => <StatusBadge status={status} />,
  },
  {
    id: 'response',
    header: t`Last response`,
    width: '152px',
    from: 'medium',
    cell: (row) => responseOf(row) ?? '–',
  },
  { id: 'attempts', header: t`Attempts`, width: '88px', from: 'wide', cell: (row) => row.attempt_count },
  {
    id: 'next',
    header: t`Next attempt`,
    width: AGO_WIDTH,
    from: 'wide',
    cell: ({ next_attempt_at: at }) => (at === null ? '–' : <Time at={at} form="ago" />),
  },
  {
    id: 'created',
    header: t({ message: 'Accepted', context: 'time' }),
    width: AGO_WIDTH,
    cell: (row) => <Time at={row.created_at} form="ago" />,
    second: responseOf,
  },
] as const satisfies readonly Column<Delivery>[];
