import type { Command } from 'commander';
import { type Cli, connect } from '../cli';
import { parseId } from '../input/parse-flags';
import { addYes, type ConfirmFlags, requireYes } from './confirm';
import { addExample } from './example';
import { addPaging, type PagingFlags, pageSize, printPages } from './paging';
import { REPLAY_COLUMNS } from './replay-columns';

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
    .description('Show the progress of a replay.')
    .argument('<id>', 'its id', parseId)
    .action(async (id: string) => {
      const client = await connect(cli);
      cli.output.document(await client.GET('/v1/replays/{id}', { params: { path: { id } } }), REPLAY_COLUMNS);
    });
  addExample(show, 'hookferry replays show rpl_01m7ze3thwae6532vdxr7r');
  const cancel = replays
    .command('cancel')
    .description('Cancel a replay. Deliveries that are on the queue are still sent.')
    .argument('<id>', 'its id', parseId)
    .action((id: string, flags: ConfirmFlags) => cancelReplay(id, flags, cli));
  addExample(addYes(cancel), 'hookferry replays cancel rpl_01m7ze3thwae6532vdxr7r --yes');
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
