import type { Change, Client } from '@hookferry/client';
import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { Interrupted } from '../../failures/interrupted';
import { parseId, parsePositive } from '../../input/parse-flags';
import { paintStatus } from '../../output/colours';
import type { Output } from '../../output/output';
import { visible } from '../../output/visible';
import { addExample } from '../example';
import { type MissedAttempt, MissedAttempts } from './missed-attempts';

interface TailFlags {
  readonly webhook?: string;
  readonly max?: number;
}

export function addTailDeliveries(deliveries: Command, cli: Cli): void {
  const tail = deliveries
    .command('tail')
    .description('Show attempts as they are made.')
    .option('--webhook <id>', 'only those to this webhook: its id or uid', parseId)
    .option('--max <n>', 'end after this many attempts (default: until Ctrl-C)', parsePositive)
    .action((flags: TailFlags) => cli.interrupts.during((signal) => tailDeliveries(flags, signal, cli)));
  addExample(
    tail,
    'hookferry deliveries tail --webhook crm',
    'hookferry deliveries tail --json | jq \'select(.attempt.outcome != "delivered")\'',
  );
}

async function tailDeliveries({ webhook, max }: TailFlags, signal: AbortSignal, cli: Cli): Promise<void> {
  const client = await connect(cli);
  let left = max ?? Number.POSITIVE_INFINITY;
  try {
    for await (const shown of attemptsAsMade(client, webhook, signal, cli.output)) {
      printAttempt(shown, cli.output);
      left -= 1;
      if (left === 0) return;
    }
  } catch (error) {
    throw signal.aborted ? new Interrupted() : error;
  }
}

async function* attemptsAsMade(
  client: Client,
  webhook: string | undefined,
  signal: AbortSignal,
  output: Output,
): AsyncGenerator<MissedAttempt, void> {
  let missed: MissedAttempts | undefined;
  const query = webhook === undefined ? {} : { webhook_id: webhook };
  for await (const change of client.streamChanges(query, { signal })) {
    if (change.event === 'ready' && missed === undefined) {
      missed = new MissedAttempts(client, timeOf(change), webhook);
      output.note('Watching for attempts; Ctrl-C ends it.');
    }
    // Something came between that the stream did not tell: the list has it.
    const found = change.event === 'reset' ? await missed?.find() : attemptsIn(change);
    for (const attempt of found ?? []) {
      missed?.note(attempt.delivery.id, attempt.attempt.number);
      yield attempt;
    }
  }
}

function attemptsIn(change: Change): readonly MissedAttempt[] {
  if (change.event !== 'delivery' || change.data.change !== 'attempted') return [];
  const { delivery } = change.data;
  const { id, event_id, webhook_id, event_type = '', attempt_count: number = 1 } = delivery;
  const { last_outcome: outcome, last_response_status: response_status = null } = delivery;
  if (outcome === undefined || outcome === null) return [];
  const attempt = { number, outcome, response_status };
  return [{ delivery: { id, event_id, webhook_id, event_type }, attempt, at: timeOf(change) }];
}

/** The service's own: the first part of an event's id are milliseconds. */
function timeOf({ id }: Change): string {
  return new Date(Number.parseInt(id, 10)).toISOString();
}

function printAttempt({ delivery, attempt, at }: MissedAttempt, output: Output): void {
  const { id, event_id, webhook_id, event_type } = delivery;
  const { number, outcome, response_status } = attempt;
  if (output.isJson) {
    const shown = { number, outcome, response_status };
    const line = { at, delivery_id: id, event_id, webhook_id, event_type, attempt: shown };
    return output.write(`${JSON.stringify(line)}\n`);
  }
  const response = response_status === null ? '' : ` ${response_status}`;
  const what = `${paintStatus(output.paint, outcome)}${response}`;
  output.write(`${at}  ${what}  ${visible(event_type)}  attempt ${number} of ${visible(id)}\n`);
}
