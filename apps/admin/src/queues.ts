import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { pauseReasonSchema } from '@hookferry/core/domain/pause';
import type { WholeQueue } from '@hookferry/core/operations/queues';
import { type PausableQueue, pausableQueues } from '@hookferry/core/queue/bullmq-paused-queues';
import type { Command } from 'commander';
import { z } from 'zod';
import { type Cli, jsonOption, jsonSchema, parseFlags, UsageError } from './cli';
import { formatJson, formatTable } from './format';

const nameSchema = z.enum(pausableQueues);

function parseName(given: unknown): PausableQueue {
  const parsed = nameSchema.safeParse(given);
  if (!parsed.success) throw new UsageError(`The queue must be one of: ${pausableQueues.join(', ')}.`);
  return parsed.data;
}

const TITLES = ['QUEUE', 'PAUSED', 'WAITING', 'ACTIVE', 'DELAYED', 'FAILED', 'OLDEST'];

export function addListQueues(queues: Command, { output, withContext }: Cli): void {
  queues
    .command('list')
    .description('Show what is in each queue, how long the oldest job has waited, and which are paused.')
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { json } = parseFlags(z.object({ json: jsonSchema }), given);
      await withContext(async (context) => {
        const found = (await context.queues.list()).map(present);
        output.out(json ? formatJson(found) : formatTable(TITLES, found.map(rowOf)));
      });
    });
}

function present({ name, pausedShards, shards, oldestWaitedMs, ...counts }: WholeQueue) {
  const partly = `in ${pausedShards} of ${shards} shards`;
  const paused = pausedShards === 0 ? 'no' : pausedShards === shards ? 'yes' : partly;
  return { name, paused, oldest_waiting_seconds: Math.round(oldestWaitedMs / 1_000), ...counts };
}

function rowOf({ name, paused, oldest_waiting_seconds: oldest, ...counts }: ReturnType<typeof present>) {
  const { waiting, active, delayed, failed } = counts;
  return [name, paused, ...[waiting, active, delayed, failed].map(String), `${oldest}s`];
}

export function addPauseQueue(queues: Command, { output, withContext }: Cli): void {
  queues
    .command('pause')
    .description('Pause a queue: workers take no more of its jobs. Events are still accepted, and wait.')
    .argument('<queue>', pausableQueues.join(' or '))
    .option('--reason <text>', 'why, for other operators and the audit log')
    .action(async (given: unknown, flags: unknown) => {
      const name = parseName(given);
      const { reason } = parseFlags(z.object({ reason: pauseReasonSchema.optional() }), flags);
      await withContext(async (context) => {
        const on = { accountId: DEFAULT_ACCOUNT, targetId: name };
        await context.queues.pause(name, reason, context.actOf('queues pause', 'queue.pause', on));
        output.out(`Paused ${name}. To go on: hookferry-admin queues resume ${name}\n`);
      });
    });
}

export function addResumeQueue(queues: Command, { output, withContext }: Cli): void {
  queues
    .command('resume')
    .description('Resume a queue: workers take its jobs again.')
    .argument('<queue>', pausableQueues.join(' or '))
    .action(async (given: unknown) => {
      const name = parseName(given);
      await withContext(async (context) => {
        const on = { accountId: DEFAULT_ACCOUNT, targetId: name };
        await context.queues.resume(name, context.actOf('queues resume', 'queue.resume', on));
        output.out(`Resumed ${name}.\n`);
      });
    });
}
