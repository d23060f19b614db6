import {
  type ListedDeadLetterView,
  presentListedDeadLetter,
} from '@hookferry/core/replays/manage-dead-letters';
import type { Command } from 'commander';
import { z } from 'zod';
import type { Cli } from '../cli';
import { jsonOption, jsonSchema, parseFlags, queueOption, queueSchema } from '../flags';
import { formatJson, formatTable } from '../format';
import { readPages } from '../read-all-pages';
import { readDeadLetterPage } from './dead-letters';

const DEFAULT_LIMIT = 50;

const flagsSchema = z.object({
  queue: queueSchema,
  limit: z.coerce
    .number('must be a whole number')
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .default(DEFAULT_LIMIT),
  json: jsonSchema,
});
const TITLES = ['ID', 'NAME', 'ACCOUNT', 'FAILED', 'REASON'];

export function addListDeadLetters(deadLetters: Command, { output, withService }: Cli): void {
  deadLetters
    .command('list')
    .description('List dead letters, newest first.')
    .addOption(queueOption())
    .option('--limit <number>', `how many at most (default: ${DEFAULT_LIMIT})`)
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { queue, limit, json } = parseFlags(flagsSchema, given);
      await withService(async (service) => {
        const found: ListedDeadLetterView[] = [];
        for await (const page of readPages(readDeadLetterPage(service.deadLetters, queue))) {
          found.push(...page.map(presentListedDeadLetter));
          if (found.length > limit) break;
        }
        const shown = found.slice(0, limit);
        output.out(json ? formatJson(shown) : formatTable(TITLES, shown.map(toRow)));
        if (found.length > limit) output.error('There are more: --limit shows as many as you like.\n');
      });
    });
}

function toRow({ id, name, account_id, failed_at, reason }: ListedDeadLetterView): string[] {
  return [id, name, account_id ?? '', failed_at, reason].map(withoutControls);
}

// What a producer has pushed must not get at the terminal.
function withoutControls(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
}
