import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Cli, connect } from '../../cli';
import { parseId } from '../../input/parse-flags';
import { parseTime } from '../../input/parse-time';
import { readSearched } from '../../input/read-searched';
import type { Delivery } from '../../resources';
import { addExample } from '../example';
import { addPaging, type PagingFlags, pageSize, printPages } from '../paging';
import { deliveryColumns } from './delivery-columns';

export const STATUSES: readonly Delivery['status'][] = [
  ...(['pending', 'held', 'delivered', 'exhausted', 'aborted', 'cancelled', 'superseded'] as const),
];

interface ListFlags extends PagingFlags {
  readonly webhook?: string;
  readonly event?: string;
  readonly status?: Delivery['status'];
  readonly response?: ResponseQuery;
  readonly outcome?: NonNullable<Delivery['last_outcome']>;
  readonly attemptOutcome?: string;
  readonly attemptedSince?: string;
  readonly attemptedUntil?: string;
  readonly type?: string;
  readonly data?: string;
  readonly since?: string;
  readonly until?: string;
}

export function addListDeliveries(deliveries: Command, cli: Cli): void {
  const list = deliveries
    .command('list')
    .description('List deliveries of the account, those of the newest event first.')
    .option('--webhook <id>', 'only those to this webhook: its id or uid', parseId)
    .option('--event <id>', 'only those of this event', parseId)
    .addOption(new Option('--status <status>', 'only these').choices(STATUSES))
    .option(
      '--response <status>',
      'only those whose last response had this HTTP status (503) or one of this class (5xx); none: no response',
      parseResponse,
    )
    .option('--outcome <outcome>', 'only those whose last attempt had this outcome: http_5xx, dns_error, …')
    .option(
      '--attempt-outcome <outcomes>',
      'only those with any attempt of this outcome; several with commas; failed: all but delivered',
    )
    .option('--attempted-since <time>', 'only those with an attempt that began from this time on', (text) =>
      parseTime(text),
    )
    .option('--attempted-until <time>', 'only those with an attempt that began before this time', (text) =>
      parseTime(text),
    )
    .option('--type <type>', 'only those of this type')
    .option(
      '--data <json>',
      "only those of events whose data contain this JSON object, or this number or text anywhere: itself, @FILE, or '-'",
    )
    .option('--since <time>', 'only from this time on: a time, or how long ago (2h)', (text) =>
      parseTime(text),
    )
    .option('--until <time>', 'only before this time', (text) => parseTime(text))
    .action((flags: ListFlags) => listDeliveries(flags, cli));
  addExample(
    addPaging(list),
    'hookferry deliveries list --status exhausted --since 1d',
    'hookferry deliveries list --webhook crm --response 5xx',
    'hookferry deliveries list --attempt-outcome failed --attempted-since 1h',
    `hookferry deliveries list --data '{"order":{"id":4711}}'`,
    'hookferry deliveries list --data 4711',
  );
}

type ResponseQuery = { readonly response_status: number } | { readonly status_class: StatusClass };

const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx', 'none'] as const;
type StatusClass = (typeof CLASSES)[number];

function parseResponse(text: string): ResponseQuery {
  const statusClass = CLASSES.find((each) => each === text.toLowerCase());
  if (statusClass !== undefined) return { status_class: statusClass };
  if (/^[1-5]\d\d$/.test(text)) return { response_status: Number(text) };
  throw new InvalidArgumentError('It must be a status such as 503, a class such as 5xx, or none.');
}

async function listDeliveries(flags: ListFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const { webhook, event, status, response, outcome, type, data, since, until } = flags;
  const { attemptOutcome, attemptedSince, attemptedUntil } = flags;
  const query = {
    limit: pageSize(flags),
    ...(webhook && { webhook_id: webhook }),
    ...(event && { event_id: event }),
    ...(status && { status }),
    ...response,
    ...(outcome && { outcome }),
    ...(attemptOutcome && { attempt_outcome: attemptOutcome }),
    ...(attemptedSince && { attempted_since: attemptedSince }),
    ...(attemptedUntil && { attempted_until: attemptedUntil }),
    ...(type && { event_type: type }),
    ...(data !== undefined && { data: await readSearched(data, cli.prompt) }),
    ...(since && { since }),
    ...(until && { until }),
  };
  let isCutShort = false;
  const onHistoryUnavailable = () => {
    isCutShort = true;
  };
  await printPages(cli, flags, {
    items: client.paginate('/v1/deliveries', { params: { query }, onHistoryUnavailable }),
    isCutShort: () => isCutShort,
    columns: deliveryColumns(webhook),
    ifNone: 'There are none.',
  });
}
