import { type CopyResult, copyData } from '@hookferry/core/operations/redis-copy-data';
import { isRedisUrl } from '@hookferry/producer/contract';
import type { Command } from 'commander';
import { z } from 'zod';
import { type Cli, Failure, parseFlags } from './cli';
import { withRedis } from './context';

const flagsSchema = z.object({
  to: z
    .string('must be given')
    .refine(isRedisUrl, 'must be redis://…, redis+sentinel://… or redis+cluster://…'),
});

const SHOWN_EVERY = 10_000;

export function addCopyData(data: Command, { output, withContext }: Cli): void {
  data
    .command('copy')
    .description(
      'Copy all data to another Redis, such as a Cluster. Stop the API, the workers and the producers first.',
    )
    .option('--to <url>', 'an empty Redis, in the form of REDIS_URL')
    .action(async (given: unknown) => {
      const { to } = parseFlags(flagsSchema, given);
      await withContext(async ({ redis, config }) => {
        let shown = 0;
        const showProgress = (keys: number) => {
          if (keys - shown < SHOWN_EVERY) return;
          shown = keys;
          output.error(`${keys} keys\n`);
        };
        const from = { redis, url: config.REDIS_URL };
        const result = await withRedis('working', to, (redisTo) =>
          copyData(from, { redis: redisTo, url: to }, showProgress),
        );
        output.out(`Copied ${keysOf(result)} keys.\n`);
      });
    });
}

function keysOf(result: CopyResult): number {
  switch (result.kind) {
    case 'copied':
      return result.keys;
    case 'in_use':
      throw new Failure(
        `Nothing was copied: processes of the service (${result.processes.join(', ')}) are connected to the Redis ` +
          `${result.side === 'from' ? 'to copy from' : 'to copy to'}. Stop them first.`,
      );
    case 'not_empty':
      throw new Failure('Nothing was copied: the Redis to copy to is not empty.');
  }
}
