import type { Command } from 'commander';
import { Option } from 'commander';
import { type Cli, connect } from '../../cli';
import type { Webhook } from '../../resources';
import { addExample } from '../example';
import { addPaging, type PagingFlags, pageSize, printPages } from '../paging';
import { LIST_COLUMNS } from './endpoint-columns';

interface ListFlags extends PagingFlags {
  readonly status?: Webhook['status'];
  readonly type?: string;
  readonly failing?: boolean;
}

export function addListEndpoints(webhooks: Command, cli: Cli): void {
  const list = webhooks
    .command('list')
    .description('List webhooks, newest first.')
    .addOption(new Option('--status <status>', 'only these').choices(['enabled', 'disabled']))
    .option('--type <type>', 'only those that get events of this type')
    .option('--failing', 'only those whose last attempt failed, or that were disabled for failures')
    .action((flags: ListFlags) => listEndpoints(flags, cli));
  addExample(
    addPaging(list),
    'hookferry webhooks list --failing',
    'hookferry webhooks list --status disabled',
  );
}

async function listEndpoints(flags: ListFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const query = {
    limit: pageSize(flags),
    include: 'health' as const,
    ...(flags.failing ? { failing: 'true' as const } : {}),
    ...(flags.status === undefined ? {} : { status: flags.status }),
    ...(flags.type === undefined ? {} : { event_type: flags.type }),
  };
  await printPages(cli, flags, {
    items: client.paginate('/v1/webhooks', { params: { query } }),
    columns: LIST_COLUMNS,
    ifNone: 'There are none. Create one: hookferry webhooks create URL --events TYPES',
  });
}
