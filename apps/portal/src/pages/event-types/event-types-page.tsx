import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import type { EventType } from '../../api/event-type-queries';
import { type Column, DataTable } from '../../components/data-table';
import { Problem } from '../../components/problem';
import { TextWithCode } from '../../components/text-with-code';
import { formatCount } from '../../language/formats';
import { PageHeader } from '../page-header';
import { EventOrigin } from './event-origin';
import styles from './event-types-page.module.css';
import { useOfferedTypes } from './offered-types';

const columns: readonly Column<EventType>[] = [
  {
    id: 'name',
    header: t`Type`,
    width: '16rem',
    cell: ({ name }) => name,
  },
  {
    id: 'description',
    header: t`What happened`,
    from: 'medium',
    cell: ({ description }) => <TextWithCode text={description} />,
  },
  {
    id: 'origin',
    header: t`Origin`,
    width: '9rem',
    from: 'medium',
    cell: (type) => <EventOrigin type={type} />,
  },
];

/** The catalogue: what the product tells, and folded below what the service tells about webhooks. */
export function EventTypesPage() {
  const { data: types, error, refetch } = useOfferedTypes();
  const operational = types?.filter(({ origin }) => origin === 'operational') ?? [];
  const count = formatCount(operational.length);
  return (
    <>
      <PageHeader title={t`Event types`} />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {(types || !error) && (
        <Types label={t`Event types`} types={types?.filter(({ origin }) => origin !== 'operational')} />
      )}
      {operational.length > 0 && (
        <details className={styles['operational']}>
          <summary>
            <Trans>Events about your webhooks ({count})</Trans>
          </summary>
          <Types label={t`Events about your webhooks`} types={operational} />
        </details>
      )}
    </>
  );
}

interface TypesProps {
  readonly label: string;
  /** Absent: they are still read. */
  readonly types: readonly EventType[] | undefined;
}

function Types({ label, types }: TypesProps) {
  return (
    <DataTable
      label={label}
      columns={columns}
      rows={types}
      rowId={({ name }) => name}
      hrefOf={({ name }) => `/event-types/${name}`}
    />
  );
}
