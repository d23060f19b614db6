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
}

export function addListEndpoints(endpoints: Command, cli: Cli): void {
  const list = endpoints
    .command('list')
    .description('List endpoints, the newest first.')
    .addOption(new Option('--status <status>', 'only these').choices(['enabled', 'disabled']))
    .option('--type <type>', 'only those that asked for events of this type')
    .action((flags: ListFlags) => listEndpoints(flags, cli));
  addExample(addPaging(list), 'hookferry endpoints list --status disabled');
}

async function listEndpoints(flags: ListFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const query = {
    limit: pageSize(flags),
    ...(flags.status === undefined ? {} : { status: flags.status }),
    ...(flags.type === undefined ? {} : { event_type: flags.type }),
  };
  await printPages(cli, flags, {
    items: client.paginate('/v1/webhooks', { params: { query } }),
    columns: LIST_COLUMNS,
    ifNone: 'There are none. Make one: hookferry endpoints create URL --events TYPES',
  });
}
