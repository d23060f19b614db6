import type { Client } from '@hookferry/client';
import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { Interrupted } from '../../failures/interrupted';
import { UsageError } from '../../failures/usage-error';
import { parseId, parsePositive } from '../../input/parse-flags';
import { paintStatus } from '../../output/colours';
import type { Output } from '../../output/output';
import { visible } from '../../output/visible';
import { pause } from '../../pause';
import { addExample } from '../example';
import { type NewAttempt, WATCHED_DELIVERIES, WatchAttempts } from './watch-attempts';

const LOOK_EVERY_MS = 2_000;
// One request each and look: with more of them it would be no polite guest.
const MAX_ENDPOINTS = 20;

interface TailFlags {
  readonly endpoint?: string;
  readonly max?: number;
}

export function addTailDeliveries(deliveries: Command, cli: Cli): void {
  const tail = deliveries
    .command('tail')
    .description(
      `Show attempts as they are made, of the newest ${WATCHED_DELIVERIES} deliveries to each endpoint.`,
    )
    .option('--endpoint <id>', 'only those to this endpoint: its id or uid', parseId)
    .option('--max <n>', 'end after so many attempts (default: until Ctrl-C)', parsePositive)
    .action((flags: TailFlags) => cli.interrupts.during((signal) => tailDeliveries(flags, signal, cli)));
  addExample(
    tail,
    'hookferry deliveries tail --endpoint crm',
    'hookferry deliveries tail --json | jq \'select(.attempt.outcome != "delivered")\'',
  );
}

async function tailDeliveries({ endpoint, max }: TailFlags, signal: AbortSignal, cli: Cli): Promise<void> {
  const { output } = cli;
  const client = await connect(cli);
  const watch = new WatchAttempts(client);
  let left = max ?? Number.POSITIVE_INFINITY;
  let isFirst = true;
  while (!signal.aborted && left > 0) {
    for (const id of endpoint === undefined ? await readEndpoints(client) : [endpoint]) {
      const found = await watch.look(id);
      for (const attempt of found.slice(0, left)) printAttempt(attempt, output);
      left -= Math.min(found.length, left);
      if (watch.isOverrun(id, found))
        output.note(`More came to ${id} than a look can see: some are not shown.`);
    }
    if (isFirst) output.note('Watching for attempts; Ctrl-C ends it.');
    isFirst = false;
    if (left > 0) await pause(LOOK_EVERY_MS, signal);
  }
  if (signal.aborted) throw new Interrupted();
}

async function readEndpoints(client: Client): Promise<readonly string[]> {
  const query = { limit: MAX_ENDPOINTS };
  const { data, has_more } = await client.GET('/v1/webhooks', { params: { query } });
  if (!has_more) return data.map(({ id }) => id);
  throw new UsageError(`There are more than ${MAX_ENDPOINTS} endpoints.`, 'Choose one: --endpoint ID');
}

function printAttempt({ delivery, attempt }: NewAttempt, output: Output): void {
  const { id, event_id, webhook_id, type } = delivery;
  if (output.isJson) {
    return output.write(`${JSON.stringify({ delivery_id: id, event_id, webhook_id, type, attempt })}\n`);
  }
  const { started_at, outcome, response_status, duration_ms, number } = attempt;
  const answer = response_status === null ? '' : ` ${response_status}`;
  const what = `${paintStatus(output.paint, outcome)}${answer} in ${Math.round(duration_ms)} ms`;
  output.write(`${started_at}  ${what}  ${visible(type)}  attempt ${number} of ${visible(id)}\n`);
}
