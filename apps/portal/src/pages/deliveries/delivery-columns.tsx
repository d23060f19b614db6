import type { Delivery } from '../../api/delivery-queries';
import type { Column } from '../../components/data-table';
import { Time } from '../../components/time';
import { answerOf } from './answer-of';
import styles from './delivery-table.module.css';
import { StatusBadge } from './status-badge';

/** Says nothing in a list of one webhook's deliveries. */
export const WEBHOOK_COLUMN = 'webhook';

/** @param names of webhooks, by id; one that is not there is shown by its id */
export const deliveryColumns = (names: ReadonlyMap<string, string>): readonly Column<Delivery>[] => [
  { id: 'status', header: 'Status', width: '120px', cell: ({ status }) => <StatusBadge status={status} /> },
  { id: 'type', header: 'Event type', cell: ({ type }) => type },
  {
    id: 'answer',
    header: 'Last answer',
    width: '152px',
    from: 'medium',
    cell: (row) => answerOf(row) ?? '–',
  },
  { id: 'attempts', header: 'Attempts', width: '80px', from: 'wide', cell: (row) => row.attempt_count },
  {
    id: WEBHOOK_COLUMN,
    header: 'Webhook',
    width: '232px',
    from: 'wide',
    cell: ({ webhook_id: id }) => (
      <span className={styles['webhook']} title={id}>
        {names.get(id) ?? id}
      </span>
    ),
  },
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
    width: '144px',
    from: 'medium',
    cell: (row) => <Time at={row.created_at} form="short" />,
  },
];
