import { type Client, WebhooksApiError } from '@hookferry/client';
import { type Command, Option } from 'commander';
import { type Cli, connect } from '../cli';
import { UsageError } from '../failures/usage-error';
import type { Column } from '../output/output';
import type { DeadLetter } from '../resources';
import { addYes, type ConfirmFlags, requireYes } from './confirm';
import { addExample } from './example';
import { addPaging, type PagingFlags, pageSize, printPages } from './paging';

interface QueueFlags {
  readonly queue?: DeadLetter['queue'];
}
interface ActFlags extends QueueFlags, ConfirmFlags {
  readonly all?: boolean;
}

const COLUMNS: readonly Column<DeadLetter>[] = [
  ['id', ({ id }) => id],
  ['queue', ({ queue }) => queue],
  ['name', ({ name }) => name],
  ['account', ({ account_id }) => account_id],
  ['failed', ({ failed_at }) => failed_at],
  ['reason', ({ reason }) => reason],
];

const MAX_PAGE = 200;

const queueOption = () =>
  new Option('--queue <name>', 'only those of this queue').choices([
    'events',
    'deliveries',
    'replays',
    'erasures',
  ]);

export function addDeadLetters(program: Command, cli: Cli): void {
  const deadLetters = program
    .command('dead-letters')
    .description("Dead letters: jobs that no worker could process. For operators' keys.");
  const list = deadLetters
    .command('list')
    .description('List dead letters, newest first.')
    .addOption(queueOption())
    .action((flags: QueueFlags & PagingFlags) => listDeadLetters(flags, cli));
  addExample(addPaging(list), 'hookferry dead-letters list --queue events');
  const show = deadLetters
    .command('show')
    .description('Show a dead letter with its data.')
    .argument('<id>', 'its id, from the list')
    .action(async (id: string) => {
      const client = await connect(cli);
      const letter = await client.GET('/v1/dead-letters/{id}', { params: { path: { id } } });
      cli.output.document(letter, [...COLUMNS, ['data', ({ data }) => data]]);
    });
  addExample(show, 'hookferry dead-letters show events-dead-letters.1767225600000-17');
  for (const act of [RETRY, DROP]) addAct(deadLetters, act, cli);
}

interface Act {
  readonly name: string;
  readonly description: string;
  readonly question: string;
  /** What was done: as a sentence begins with it, and as a member of JSON. */
  readonly done: readonly [sentence: string, member: string];
  readonly run: (client: Client, id: string) => Promise<unknown>;
}

const RETRY: Act = {
  name: 'retry',
  description:
    'Retry them: put their jobs back onto the queues. A job that fails again becomes a dead letter again.',
  question: 'Retry every dead letter?',
  done: ['Retried', 'retried'],
  run: (client, id) => client.POST('/v1/dead-letters/{id}/retry', { params: { path: { id } } }),
};

const DROP: Act = {
  name: 'drop',
  description: 'Drop them for good. The delivery of a dropped job is cancelled.',
  question: 'Drop these dead letters for good?',
  done: ['Dropped', 'dropped'],
  run: (client, id) => client.DELETE('/v1/dead-letters/{id}', { params: { path: { id } } }),
};

function addAct(parent: Command, act: Act, cli: Cli): void {
  const command = parent
    .command(act.name)
    .description(act.description)
    .argument('[ids...]', 'their ids, from the list')
    .option('--all', 'all that exist now')
    .addOption(queueOption())
    .action((ids: readonly string[], flags: ActFlags) => actOnEach(ids, flags, act, cli));
  addExample(addYes(command), `hookferry dead-letters ${act.name} --all --queue events --yes`);
}

async function listDeadLetters(flags: QueueFlags & PagingFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const query = { limit: pageSize(flags), ...(flags.queue && { queue: flags.queue }) };
  await printPages(cli, flags, {
    items: client.paginate('/v1/dead-letters', { params: { query } }),
    columns: COLUMNS,
    ifNone: 'There are none.',
  });
}

async function actOnEach(ids: readonly string[], flags: ActFlags, act: Act, cli: Cli): Promise<void> {
  if (ids.length > 0 === (flags.all === true)) {
    throw new UsageError('Give either ids or --all, not both.', 'See: hookferry dead-letters list');
  }
  if (flags.queue !== undefined && !flags.all) {
    throw new UsageError('--queue needs --all.', 'Leave one of them out.');
  }
  // One that is named and retried can do no harm: it is what was asked for.
  if (flags.all || act === DROP) await requireYes(cli, flags, act.question);
  const client = await connect(cli);
  const count = flags.all ? await actOnAll(client, flags, act) : await actOnNamed(client, ids, act);
  const [sentence, member] = act.done;
  cli.output.result({ [member]: count }, `${sentence} ${count} dead ${count === 1 ? 'letter' : 'letters'}.`);
}

async function actOnNamed(client: Client, ids: readonly string[], { run }: Act): Promise<number> {
  for (const id of ids) await run(client, id);
  return ids.length;
}

// From the newest to the oldest. A job that fails again meanwhile is newer, so it is not met a second time.
async function actOnAll(client: Client, { queue }: QueueFlags, { run }: Act): Promise<number> {
  const query = { limit: MAX_PAGE, ...(queue && { queue }) };
  let count = 0;
  for await (const { id } of client.paginate('/v1/dead-letters', { params: { query } })) {
    count += await oneIfThere(run(client, id));
  }
  return count;
}

// Another person may be retrying or dropping the same one.
async function oneIfThere(action: Promise<unknown>): Promise<0 | 1> {
  try {
    await action;
    return 1;
  } catch (error) {
    if (error instanceof WebhooksApiError && (error.status === 404 || error.status === 409)) return 0;
    throw error;
  }
}
