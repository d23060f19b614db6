import { type Command, Option } from 'commander';
import { type Cli, connect } from '../cli';
import { parseId } from '../input/parse-flags';
import type { Delivery } from '../resources';
import { addYes, type ConfirmFlags, requireYes } from './confirm';
import { DELIVERY_COLUMNS } from './deliveries/delivery-columns';
import { STATUSES } from './deliveries/list-deliveries';
import { addExample } from './example';
import { addPaging, type PagingFlags, pageSize, printPages } from './paging';
import { REPLAY_COLUMNS, RESULT_COLUMNS } from './replay-columns';

export function addReplays(program: Command, cli: Cli): void {
  const replays = program
    .command('replays')
    .description('Replays: events of a time range that are sent once more.');
  const list = replays
    .command('list')
    .description("List a webhook's replays, newest first.")
    .argument('<webhook>', 'its id or uid', parseId)
    .action((id: string, flags: PagingFlags) => listReplays(id, flags, cli));
  addExample(addPaging(list), 'hookferry replays list crm');
  const show = replays
    .command('show')
    .description('Show the progress of a replay, and how its deliveries are.')
    .argument('<id>', 'its id', parseId)
    .action(async (id: string) => {
      const client = await connect(cli);
      const params = { path: { id }, query: { include: 'results' } } as const;
      cli.output.document(await client.GET('/v1/replays/{id}', { params }), RESULT_COLUMNS);
    });
  addExample(show, 'hookferry replays show rpl_01m7ze3thwae6532vdxr7r');
  const deliveries = replays
    .command('deliveries')
    .description('List the deliveries that a replay has queued, those of the newest event first.')
    .argument('<id>', 'its id', parseId)
    .addOption(new Option('--status <status>', 'only these').choices(STATUSES))
    .action((id: string, flags: DeliveriesFlags) => listDeliveries(id, flags, cli));
  addExample(
    addPaging(deliveries),
    'hookferry replays deliveries rpl_01m7ze3thwae6532vdxr7r --status exhausted',
  );
  const cancel = replays
    .command('cancel')
    .description('Cancel a replay. Deliveries that are on the queue are still sent.')
    .argument('<id>', 'its id', parseId)
    .action((id: string, flags: ConfirmFlags) => cancelReplay(id, flags, cli));
  addExample(addYes(cancel), 'hookferry replays cancel rpl_01m7ze3thwae6532vdxr7r --yes');
}

interface DeliveriesFlags extends PagingFlags {
  readonly status?: Delivery['status'];
}

async function listDeliveries(id: string, flags: DeliveriesFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const query = { limit: pageSize(flags), ...(flags.status && { status: flags.status }) };
  await printPages(cli, flags, {
    items: client.paginate('/v1/replays/{id}/deliveries', { params: { path: { id }, query } }),
    columns: DELIVERY_COLUMNS,
    ifNone: 'There are none.',
  });
}

async function listReplays(id: string, flags: PagingFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const params = { path: { id }, query: { limit: pageSize(flags) } };
  await printPages(cli, flags, {
    items: client.paginate('/v1/webhooks/{id}/replays', { params }),
    columns: REPLAY_COLUMNS,
    ifNone: 'There are none.',
  });
}

async function cancelReplay(id: string, flags: ConfirmFlags, cli: Cli): Promise<void> {
  await requireYes(cli, flags, `Cancel the replay ${id}?`);
  const client = await connect(cli);
  await client.DELETE('/v1/replays/{id}', { params: { path: { id } } });
  cli.output.result({ id, cancelled: true }, `Cancelled the replay ${id}.`);
}
