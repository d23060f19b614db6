import { Link, useLocation } from 'wouter';
import { type EventType, useEventTypes } from '../../api/event-type-queries';
import { type Column, DataTable } from '../../components/data-table';
import { PageHeader } from '../../components/page-header';
import { Problem } from '../../components/problem';
import { TextWithCode } from '../../components/text-with-code';
import { EventOrigin } from './event-origin';

const columns: readonly Column<EventType>[] = [
  {
    id: 'name',
    header: 'Type',
    width: '16rem',
    cell: ({ name }) => <Link href={`/event-types/${name}`}>{name}</Link>,
  },
  {
    id: 'description',
    header: 'What happened',
    from: 'medium',
    cell: ({ description }) => <TextWithCode text={description} />,
  },
  {
    id: 'origin',
    header: 'Origin',
    width: '9rem',
    from: 'medium',
    cell: (type) => <EventOrigin type={type} />,
  },
];

/** The catalogue. */
export function EventTypesPage() {
  const [, go] = useLocation();
  const { data: types, error, refetch } = useEventTypes();
  return (
    <>
      <PageHeader title="Event types" />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {(types || !error) && (
        <DataTable
          label="Event types"
          columns={columns}
          rows={types}
          rowId={({ name }) => name}
          onOpen={({ name }) => go(`/event-types/${name}`)}
        />
      )}
    </>
  );
}
