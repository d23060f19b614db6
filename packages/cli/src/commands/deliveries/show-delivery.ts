import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { parseId } from '../../input/parse-flags';
import type { Column } from '../../output/output';
import { visible } from '../../output/visible';
import type { Attempt, DeliveryWithAttempts } from '../../resources';
import { addExample } from '../example';
import { ATTEMPT_COLUMNS, deliveryColumns } from './delivery-columns';
import { findDeliveryId, ID_HELP } from './delivery-id';

type PastHold = NonNullable<Attempt['holds']>[number] & { readonly before: number };

const HOLD_COLUMNS: readonly Column<DeliveryWithAttempts>[] = [
  ['held since', ({ hold }) => hold?.since],
  ['held until', ({ hold }) => hold?.until],
  ['waits for', ({ hold }) => hold?.waits_for],
];
const PAST_HOLD_COLUMNS: readonly Column<PastHold>[] = [
  ['before #', ({ before }) => before],
  ['held because', ({ reason }) => reason],
  ['since', ({ since }) => since],
  ['until', ({ until }) => until],
  ['ms', ({ since, until }) => Date.parse(until) - Date.parse(since)],
];

export function addShowDelivery(deliveries: Command, cli: Cli): void {
  const show = deliveries
    .command('show')
    .description('Show a delivery with its attempts, and what holds it or held it before them.')
    .argument('<id>', ID_HELP, parseId)
    .action((id: string) => showDelivery(id, cli));
  addExample(show, 'hookferry deliveries show order-4711.crm');
}

async function showDelivery(id: string, cli: Cli): Promise<void> {
  const { output } = cli;
  const client = await connect(cli);
  const path = { id: await findDeliveryId(client, id) };
  const delivery = await client.GET('/v1/deliveries/{id}', { params: { path } });
  const asked = deliveryColumns(id.slice(id.indexOf('.') + 1));
  const columns = delivery.hold === null ? asked : [...asked, ...HOLD_COLUMNS];
  output.document(delivery, columns);
  if (output.isJson) return;
  output.write('\n');
  output.list(delivery.attempts, ATTEMPT_COLUMNS, 'Nothing was sent yet.');
  showResponse(delivery.attempts, cli);
  const pastHolds = delivery.attempts.flatMap(({ number, holds }) =>
    holds.map((hold) => ({ ...hold, before: number })),
  );
  if (pastHolds.length === 0) return;
  output.write('\n');
  output.list(pastHolds, PAST_HOLD_COLUMNS, '');
}

/** What the receiver said last: often it names what is wrong. */
function showResponse(attempts: readonly Attempt[], { output }: Cli): void {
  const last = attempts.findLast(({ response_body: body }) => body);
  if (!last?.response_body) return;
  const status = last.response_status === null ? '' : ` (HTTP ${last.response_status})`;
  const lines = last.response_body.split(/\r?\n/).map((line) => `  ${visible(line)}\n`);
  output.write(`\nResponse to attempt ${last.number}${status}:\n${lines.join('')}`);
}
