import type { Command } from 'commander';
import { type Cli, connect } from '../cli';
import { UsageError } from '../failures/usage-error';
import { parseId } from '../input/parse-flags';
import { paintStatus } from '../output/colours';
import type { Column } from '../output/output';
import type { Explanation } from '../resources';
import { addExample } from './example';
import { addPaging, type PagingFlags, pageSize, printPages } from './paging';

interface ExplainFlags extends PagingFlags {
  readonly unsent?: boolean;
}

const COLUMNS: readonly Column<Explanation>[] = [
  ['webhook', ({ webhook_id: id, webhook_uid: uid }) => uid ?? id],
  ['url', ({ webhook_url: url }) => url],
  ['delivery', ({ status }) => status ?? 'none', paintStatus],
  ['reason', ({ reason }) => reason],
  ['why', ({ detail }) => detail],
];

export function addExplain(program: Command, cli: Cli): void {
  const explain = program
    .command('explain')
    .description('Say which webhooks get an event, and why others do not.')
    .argument('<event>', "the event's id", parseId)
    .argument('[webhook]', 'only this webhook: its id or its uid', parseId)
    .option('--unsent', 'only webhooks that subscribe to its type, and have no delivery of it')
    .action((event: string, webhook: string | undefined, flags: ExplainFlags) =>
      webhook === undefined ? explainAll(event, flags, cli) : explainOne(event, webhook, flags, cli),
    );
  addExample(
    addPaging(explain),
    'hookferry explain quick-win-4711 --unsent',
    'hookferry explain quick-win-4711 crm',
  );
}

async function explainAll(event: string, flags: ExplainFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const query = {
    limit: pageSize(flags),
    ...(flags.unsent && { has_delivery: 'false' as const, subscribed: 'true' as const }),
  };
  const params = { path: { id: event }, query };
  await printPages(cli, flags, {
    items: client.paginate('/v1/events/{id}/explanations', { params }),
    columns: COLUMNS,
    ifNone: flags.unsent
      ? 'Every webhook that subscribes to its type has a delivery of it.'
      : 'The account has no webhooks.',
  });
}

async function explainOne(event: string, webhook: string, flags: ExplainFlags, cli: Cli): Promise<void> {
  if (flags.unsent) {
    throw new UsageError('--unsent cannot be combined with a webhook.', 'Leave one of them out.');
  }
  const client = await connect(cli);
  const params = { path: { id: event }, query: { webhook_id: webhook } };
  const { data } = await client.GET('/v1/events/{id}/explanations', { params });
  for (const explanation of data) cli.output.document(explanation, COLUMNS);
}
