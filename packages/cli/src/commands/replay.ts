import type { Client } from '@hookferry/client';
import { type Command, Option } from 'commander';
import { type Cli, connect } from '../cli';
import { CheckFailed } from '../failures/check-failed';
import { Interrupted } from '../failures/interrupted';
import { parseId, parsePositive } from '../input/parse-flags';
import { parseTime } from '../input/parse-time';
import { ProgressBar } from '../output/progress-bar';
import type { Replay } from '../resources';
import { addYes, type ConfirmFlags, requireYes } from './confirm';
import { addExample } from './example';
import { followReplay } from './follow-replay';

interface ReplayFlags extends ConfirmFlags {
  readonly since: string;
  readonly until?: string;
  readonly mode: Replay['mode'];
  readonly rate?: number;
  readonly dryRun?: boolean;
  readonly wait: boolean;
}

export function addReplay(program: Command, cli: Cli): void {
  const replay = program
    .command('replay')
    .description('Replay the events of a time range to a webhook. It counts them first, and asks.')
    .argument('<webhook>', 'its id or uid', parseId)
    .requiredOption(
      '--since <time>',
      'accepted at or after this time: a time, or how long ago (2h)',
      (text) => parseTime(text),
    )
    .option('--until <time>', 'accepted up to this time (default: now)', (text) => parseTime(text))
    .addOption(
      new Option(
        '--mode <mode>',
        'which events: those that failed, that wait for a retry, that it never got, or all',
      )
        .choices(['failed', 'pending', 'missing', 'all'])
        .default('failed'),
    )
    .option('--rate <n>', 'how many events a second, 1 to 1000 (default: 50)', parsePositive)
    .option('--dry-run', 'only count the events')
    .option('--no-wait', 'do not wait until it is done')
    .action((webhook: string, flags: ReplayFlags) => replayEvents(webhook, flags, cli));
  addExample(
    addYes(replay),
    'hookferry replay crm --since 1d --dry-run',
    'hookferry replay crm --since 2026-11-20T00:00:00Z --mode missing --yes',
  );
}

async function replayEvents(webhook: string, flags: ReplayFlags, cli: Cli): Promise<void> {
  const { output } = cli;
  const client = await connect(cli);
  if (flags.dryRun || !flags.yes) {
    const counted = await countFirst(webhook, flags, client, cli);
    if (flags.dryRun) return output.result(counted, `It would send ${counted.found} events.`);
    if (counted.found === 0) return output.result(counted, 'There is nothing to send.');
    await requireYes(cli, flags, `Replay ${counted.found} events to ${webhook}?`);
  }
  const replay = await start(webhook, flags, false, client);
  if (!flags.wait) {
    output.result(replay, `The replay ${replay.id} has begun.`);
    return output.note(`See its progress: hookferry replays show ${replay.id}`);
  }
  await showToTheEnd(replay, client, cli);
}

function start(id: string, flags: ReplayFlags, isDryRun: boolean, client: Client): Promise<Replay> {
  const { since, until, mode, rate } = flags;
  const range = { since, ...(until === undefined ? {} : { until }) };
  const body = { ...range, mode, dry_run: isDryRun, ...(rate === undefined ? {} : { rate }) };
  return client.POST('/v1/webhooks/{id}/replays', { params: { path: { id } }, body });
}

async function countFirst(webhook: string, flags: ReplayFlags, client: Client, cli: Cli): Promise<Replay> {
  cli.output.note('Counting…');
  return await cli.interrupts.during(async (signal) => {
    const replay = await start(webhook, flags, true, client);
    const seen = await followReplay(replay, client, signal, () => {});
    if (signal.aborted) {
      // The user pressed Ctrl-C. End the dry run, because an account may have only two replays at a time.
      await client.DELETE('/v1/replays/{id}', { params: { path: { id: replay.id } } });
      throw new Interrupted();
    }
    return requireDone(seen);
  });
}

async function showToTheEnd(replay: Replay, client: Client, cli: Cli): Promise<void> {
  const { output, interrupts } = cli;
  const bar = new ProgressBar(output, 'events');
  const seen = await interrupts.during(async (signal) => {
    try {
      return await followReplay(replay, client, signal, ({ enqueued, found }) => bar.show(enqueued, found));
    } finally {
      bar.stop();
    }
  });
  if (seen.ended_at === null) await leave(seen, client, cli);
  else if (seen.status === 'cancelled') output.note('It was cancelled.');
  requireDone(seen);
  output.result(seen, `Put ${seen.enqueued} of ${seen.found} events onto the queue.`);
}

/** Ctrl-C was pressed: ask whether to cancel the replay. @throws Interrupted, always. */
async function leave({ id }: Replay, client: Client, { output, prompt }: Cli): Promise<never> {
  const how = `Cancel it with: hookferry replays cancel ${id}`;
  if (prompt.canAsk && (await prompt.confirm('Cancel the replay? Otherwise it goes on.', how))) {
    await client.DELETE('/v1/replays/{id}', { params: { path: { id } } });
    output.note('Cancelled. Deliveries that are on the queue already are sent.');
  } else {
    output.note(`The replay ${id} goes on. ${how}`);
  }
  throw new Interrupted();
}

/** @throws CheckFailed if it came to another end. */
function requireDone(replay: Replay): Replay {
  if (replay.status === 'done') return replay;
  throw new CheckFailed(`The replay ${replay.id} is ${replay.status}. ${replay.error ?? ''}`.trim());
}
