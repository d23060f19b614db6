import type { Command } from 'commander';
import { type Cli, connect } from '../cli';
import { UsageError } from '../failures/usage-error';
import { parseId, parseList } from '../input/parse-flags';
import { parseTime, parseTimeAhead } from '../input/parse-time';
import { type Data, readData } from '../input/read-data';
import { readSearched } from '../input/read-searched';
import { addExample } from './example';
import { addPaging, type PagingFlags, pageSize, printPages } from './paging';
import { publishEvent } from './publish-event';
import { readExample } from './read-example';

interface PublishFlags {
  readonly data?: string;
  readonly example?: boolean;
  readonly id?: string;
  readonly to?: readonly string[];
  readonly at?: string;
  readonly group?: string;
}

interface ListFlags extends PagingFlags {
  readonly scheduled?: boolean;
  readonly type?: string;
  readonly data?: string;
  readonly since?: string;
  readonly until?: string;
}

export function addEvents(program: Command, cli: Cli): void {
  const events = program.command('events').description('Events: publish, list, move and cancel them.');
  addPublish(events, cli);
  addList(events, cli);
  const show = events
    .command('show')
    .description('Show an event with its data, and its number of deliveries by status.')
    .argument('<id>', "the event's id", parseId)
    .action((id: string) => showEvent(id, cli));
  addExample(show, 'hookferry events show order-4711');
  const move = events
    .command('move')
    .description('Move a scheduled event to another time, before it is due.')
    .argument('<id>', "the event's id", parseId)
    .requiredOption('--at <time>', 'the new time, or how long from now (2h)', (text: string) =>
      parseTimeAhead(text),
    )
    .action((id: string, { at }: { readonly at: string }) => moveEvent(id, at, cli));
  addExample(move, 'hookferry events move order-4711 --at 2h');
  const cancel = events
    .command('cancel')
    .description('Cancel a scheduled event, before it is due. It is never sent.')
    .argument('<id>', "the event's id", parseId)
    .action((id: string) => cancelEvent(id, cli));
  addExample(cancel, 'hookferry events cancel order-4711');
}

async function moveEvent(id: string, at: string, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const body = { deliver_at: at };
  const event = await client.PATCH('/v1/events/{id}', { params: { path: { id } }, body });
  cli.output.result(event, `The event ${id} is sent at ${at}.`);
}

async function cancelEvent(id: string, cli: Cli): Promise<void> {
  const client = await connect(cli);
  await client.DELETE('/v1/events/{id}', { params: { path: { id } } });
  cli.output.result({ id, status: 'cancelled' }, `Cancelled the event ${id}.`);
}

function addPublish(events: Command, cli: Cli): void {
  const publish = events
    .command('publish')
    .description('Publish an event. Its data are sent byte for byte.')
    .argument('<type>', 'the event type', parseId)
    .option('--data <json>', "its data: JSON, @FILE, or '-' for stdin")
    .option('--example', 'use the example of the event type')
    .option('--id <id>', 'an id of your own; publishing again with it makes no second event')
    .option('--to <webhooks>', 'only these webhooks get it: ids or uids, separated by commas', parseList)
    .option('--at <time>', 'send it later: a time, or a delay (2h)', (text: string) => parseTimeAhead(text))
    .option('--group <text>', 'its group, for webhooks with --ordering group')
    .action(async (type: string, { data, example, ...rest }: PublishFlags) => {
      await publishEvent({ type, data: await dataOf(type, data, example, cli), ...rest }, cli);
    });
  addExample(
    publish,
    `hookferry events publish order.created --data '{"id":"ord_4711","total":99.5}'`,
    'hookferry events publish order.created --data @order.json --id order-4711',
    'hookferry events publish order.created --data @order.json --at 2h',
  );
}

async function dataOf(type: string, data: string | undefined, example = false, cli: Cli): Promise<Data> {
  if (data !== undefined && example)
    throw new UsageError('--data and --example cannot be combined.', 'Leave one of them out.');
  if (data !== undefined) return await readData(data, cli.prompt);
  if (example) return await readExample(type, await connect(cli));
  throw new UsageError('The event has no data.', `Pass --data '{…}', --data @FILE, --data -, or --example.`);
}

function addList(events: Command, cli: Cli): void {
  const list = events
    .command('list')
    .description('List events without their data, newest first.')
    .option('--scheduled', 'only scheduled events, the next one first')
    .option('--type <type>', 'only those of this type')
    .option(
      '--data <json>',
      "only those whose data contain this JSON object, or this number or text anywhere: itself, @FILE, or '-' for stdin",
    )
    .option('--since <time>', 'accepted at or after this time: a time, or how long ago (2h)', parseEachTime)
    .option('--until <time>', 'accepted before this time', parseEachTime)
    .action((flags: ListFlags) => listEvents(flags, cli));
  addExample(
    addPaging(list),
    'hookferry events list --type order.created --since 2h',
    `hookferry events list --data '{"order":{"id":4711}}'`,
  );
}

const parseEachTime = (text: string) => parseTime(text);

async function listEvents(flags: ListFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const { scheduled, type, data, since, until } = flags;
  const query = {
    limit: pageSize(flags),
    ...(scheduled && { status: 'scheduled' as const }),
    ...(type && { type }),
    ...(data !== undefined && { data: await readSearched(data, cli.prompt) }),
    ...(since && { since }),
    ...(until && { until }),
  };
  let isCutShort = false;
  const onHistoryUnavailable = () => {
    isCutShort = true;
  };
  await printPages(cli, flags, {
    items: client.paginate('/v1/events', { params: { query }, onHistoryUnavailable }),
    isCutShort: () => isCutShort,
    columns: [
      ['id', ({ id }) => id],
      ['type', (event) => event.type],
      ['created', ({ created_at }) => created_at],
    ],
    ifNone: 'There are none.',
  });
}

async function showEvent(id: string, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const event = await client.GET('/v1/events/{id}', { params: { path: { id } } });
  cli.output.document(event, [
    ['id', (each) => each.id],
    ['type', ({ type }) => type],
    ['created', ({ created_at }) => created_at],
    ['status', ({ status }) => status],
    ['due', ({ deliver_at }) => deliver_at],
    ['data', ({ data }) => data],
    ['erased', ({ payload_erased_at }) => payload_erased_at],
    ['request', ({ request_id }) => request_id],
    ['deliveries', ({ deliveries }) => describeCounts(deliveries)],
  ]);
}

/** Such as `3: 2 delivered, 1 pending`. */
function describeCounts({ total, ...byStatus }: Readonly<Record<string, number>>): string {
  const counts = Object.entries(byStatus).filter(([, count]) => count > 0);
  return [total, counts.map(([status, count]) => `${count} ${status}`).join(', ')].filter(Boolean).join(': ');
}
