import { type Command, Option } from 'commander';
import { type Cli, connect } from '../../cli';
import { UsageError } from '../../failures/usage-error';
import { parseId } from '../../input/parse-flags';
import { parseTime } from '../../input/parse-time';
import type { Delivery } from '../../resources';
import { addExample } from '../example';
import { addPaging, type PagingFlags, pageSize, printPages } from '../paging';
import { DELIVERY_COLUMNS } from './delivery-columns';

const STATUSES: readonly Delivery['status'][] = [
  ...(['pending', 'held', 'delivered', 'exhausted', 'aborted', 'cancelled'] as const),
];

interface ListFlags extends PagingFlags {
  readonly endpoint?: string;
  readonly event?: string;
  readonly status?: Delivery['status'];
  readonly type?: string;
  readonly since?: string;
  readonly until?: string;
}

export function addListDeliveries(deliveries: Command, cli: Cli): void {
  const list = deliveries
    .command('list')
    .description('List the deliveries of an endpoint or of an event, the newest first.')
    .option('--endpoint <id>', 'those to this endpoint: its id or uid', parseId)
    .option('--event <id>', 'those of this event', parseId)
    .addOption(new Option('--status <status>', 'only these').choices(STATUSES))
    .option('--type <type>', 'only those of this type; of an endpoint')
    .option('--since <time>', 'from then on: a time, or how long ago (2h); of an endpoint', (text) =>
      parseTime(text),
    )
    .option('--until <time>', 'before then; of an endpoint', (text) => parseTime(text))
    .action((flags: ListFlags) => listDeliveries(flags, cli));
  addExample(addPaging(list), 'hookferry deliveries list --endpoint crm --status exhausted --since 1d');
}

async function listDeliveries(flags: ListFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const page = { limit: pageSize(flags), ...(flags.status && { status: flags.status }) };
  await printPages(cli, flags, {
    items: ofEndpointOrEvent(flags),
    columns: DELIVERY_COLUMNS,
    ifNone: 'There are none.',
  });

  function ofEndpointOrEvent({ endpoint, event, type, since, until }: ListFlags): AsyncIterable<Delivery> {
    const times = { ...(type && { event_type: type }), ...(since && { since }), ...(until && { until }) };
    if (endpoint !== undefined && event === undefined) {
      const params = { path: { id: endpoint }, query: { ...page, ...times } };
      return client.paginate('/v1/webhooks/{id}/deliveries', { params });
    }
    if (event === undefined || endpoint !== undefined) {
      throw new UsageError('It is not said whose deliveries.', 'Pass either --endpoint ID or --event ID.');
    }
    if (Object.keys(times).length > 0) {
      throw new UsageError('--type, --since and --until go with --endpoint only.', 'Leave them out.');
    }
    return client.paginate('/v1/events/{id}/deliveries', { params: { path: { id: event }, query: page } });
  }
}
