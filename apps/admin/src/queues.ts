import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import type { QueuePause } from '@hookferry/core/operations/queues';
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

export function addListQueues(queues: Command, { output, withContext }: Cli): void {
  queues
    .command('list')
    .description('Show which queues are paused.')
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { json } = parseFlags(z.object({ json: jsonSchema }), given);
      await withContext(async (context) => {
        const found = (await context.queues.list()).map(present);
        output.out(
          json
            ? formatJson(found)
            : formatTable(
                ['QUEUE', 'PAUSED'],
                found.map(({ name, paused }) => [name, paused]),
              ),
        );
      });
    });
}

function present({ name, pausedShards, shards }: QueuePause) {
  const partly = `in ${pausedShards} of ${shards} shards`;
  return { name, paused: pausedShards === 0 ? 'no' : pausedShards === shards ? 'yes' : partly };
}

export function addPauseQueue(queues: Command, { output, withContext }: Cli): void {
  queues
    .command('pause')
    .description('Pause a queue: workers take no more of its jobs. Events are still accepted, and wait.')
    .argument('<queue>', pausableQueues.join(' or '))
    .action(async (given: unknown) => {
      const name = parseName(given);
      await withContext(async (context) => {
        const on = { accountId: DEFAULT_ACCOUNT, targetId: name };
        await context.queues.pause(name, context.actOf('queues pause', 'queue.pause', on));
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
