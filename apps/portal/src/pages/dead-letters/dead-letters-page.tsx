import type { components, paths } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useSearchParams } from 'wouter';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { usePages } from '../../api/use-pages';
import { AGO_WIDTH, type Column } from '../../components/data-table';
import { Empty } from '../../components/empty';
import { SelectField } from '../../components/field';
import { PagedTable } from '../../components/paged-table';
import { Time } from '../../components/time';
import { PageHeader } from '../page-header';

type DeadLetter = components['schemas']['ListedDeadLetter'];
type Query = NonNullable<paths['/v1/dead-letters']['get']['parameters']['query']>;

const PAGE_SIZE = 50;
const QUEUES: readonly NonNullable<Query['queue']>[] = ['events', 'deliveries', 'replays', 'erasures'];

const columns: readonly Column<DeadLetter>[] = [
  {
    id: 'failed',
    header: t({ message: 'Failed', context: 'time' }),
    width: AGO_WIDTH,
    cell: ({ failed_at: at }) => <Time at={at} form="ago" />,
  },
  { id: 'queue', header: t`Queue`, width: '96px', cell: ({ queue }) => queue, from: 'medium' },
  {
    id: 'name',
    header: t`Job`,
    isName: true,
    cell: ({ name }) => name,
    second: ({ queue, account_id: id }) => (id === null ? queue : `${queue}, ${id}`),
  },
  { id: 'account', header: t`Account`, cell: ({ account_id: id }) => id ?? '–', from: 'wide' },
  { id: 'reason', header: t`Reason`, width: '40%', cell: ({ reason }) => reason },
];

/** Jobs that no worker takes any more: invalid ones, and those that failed for good. */
export function DeadLettersPage() {
  const api = useApi();
  const [search, setSearch] = useSearchParams();
  const queue = QUEUES.find((name) => name === search.get('queue'));
  const pages = usePages(queryKeys.deadLetters({ queue }), (paging, signal) => {
    const query = { limit: PAGE_SIZE, ...paging, ...(queue && { queue }) };
    return ask(api.GET('/v1/dead-letters', { params: { query }, signal }));
  });
  return (
    <>
      <PageHeader title={t`Dead letters`}>
        <SelectField
          label={t`Queue`}
          value={queue ?? ''}
          onChange={({ target }) => setSearch(target.value === '' ? {} : { queue: target.value })}
        >
          <option value="">
            <Trans>all</Trans>
          </option>
          {QUEUES.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </SelectField>
      </PageHeader>
      <PagedTable
        label={t`Dead letters`}
        columns={columns}
        pages={pages}
        rowId={({ id }) => id}
        hrefOf={pathOf}
        empty={
          <Empty title={t`No dead letters`}>
            <p>
              <Trans>Jobs that are invalid or failed for good are kept here.</Trans>
            </p>
          </Empty>
        }
      />
    </>
  );
}

const pathOf = ({ id }: DeadLetter) => `/dead-letters/${encodeURIComponent(id)}`;
