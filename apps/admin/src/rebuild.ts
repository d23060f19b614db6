import { copiedKinds, type RebuiltCounts } from '@hookferry/core/operations/redis-rebuild';
import type { Command } from 'commander';
import { z } from 'zod';
import { type Cli, Failure, jsonOption, jsonSchema, parseFlags } from './cli';
import { formatJson, formatTable } from './format';

const flagsSchema = z.object({ json: jsonSchema });

export function addRebuild(program: Command, { output, withContext }: Cli): void {
  program
    .command('rebuild')
    .description(
      'Fill Redis with the copies in PostgreSQL of what is configured: accounts, webhooks, keys, secrets. ' +
        'The service may run. What is done stays done: after a break, run it again.',
    )
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { json } = parseFlags(flagsSchema, given);
      await withContext(async ({ stores: { rebuild } }) => {
        if (!rebuild)
          throw new Failure('There are no copies: they need INTAKE=durable and HISTORY_DATABASE_URL.');
        const counts = await rebuild.run();
        output.out(json ? formatJson(counts) : tableOf(counts));
        if (counts.failed > 0) {
          throw new Failure(
            `${counts.failed} could not be brought back, for the reasons above. Correct them, and run this again.`,
          );
        }
      });
    });
}

function tableOf(counts: RebuiltCounts): string {
  return formatTable(
    ['COPIES', 'BROUGHT BACK'],
    copiedKinds.map((kind) => [kind.replace('_', ' '), `${counts[kind]}`]),
  );
}
