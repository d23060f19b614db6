import { deliveryIdOf } from '@hookferry/core/domain/delivery';
import type { RefusedEntry } from '@hookferry/core/events/redis-ended-list';
import { PgDatabase } from '@hookferry/core/history/database/pg-database';
import { migrate } from '@hookferry/core/history/database/pg-schema';
import { AppError, messageOf } from '@hookferry/core/platform/app-error';
import { formatTime } from '@hookferry/core/platform/clock';
import type { Command } from 'commander';
import { z } from 'zod';
import { type Cli, Failure, jsonOption, jsonSchema, limitOption, limitSchema, parseFlags } from './cli';
import { formatJson, formatTable, withoutControls } from './format';

export function addMigrateHistory(history: Command, { output, historyUrl }: Cli): void {
  history
    .command('migrate')
    .description('Create or update the tables of the history in HISTORY_DATABASE_URL.')
    .action(async () => {
      const database = new PgDatabase({
        url: historyUrl(),
        applicationName: 'hookferry-admin',
        readers: 1,
        writers: 1,
      });
      try {
        await migrate(database);
      } catch (error) {
        if (error instanceof AppError) throw new Failure(error.message, { cause: error });
        throw new Failure(`The tables could not be made: ${messageOf(error)}`, { cause: error });
      } finally {
        await database.close();
      }
      output.out('The tables of the history are up to date.\n');
    });
}

const TITLES = ['DELIVERY', 'ACCOUNT', 'SINCE', 'REASON'];
const listFlagsSchema = z.object({
  limit: limitSchema,
  json: jsonSchema,
});

export function addListRefused(history: Command, { output, withContext }: Cli): void {
  history
    .command('refused')
    .description(
      'List the events that PostgreSQL refuses, with the reason. They stay in Redis, and are shown from there.',
    )
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { limit, json } = parseFlags(listFlagsSchema, given);
      await withContext(async ({ refusedRecords }) => {
        const { found, count } = await refusedRecords.list(limit);
        const shown = found.map(presentRefused);
        output.out(json ? formatJson(shown) : formatTable(TITLES, shown.map(toRow)));
        if (count !== undefined) output.error(`There are ${count}: --limit shows more.\n`);
      });
    });
}

/** An event without deliveries has no id of one. */
function presentRefused({ accountId, eventId, endpointId, since, reason }: RefusedEntry) {
  return {
    delivery_id: endpointId === undefined ? null : deliveryIdOf({ eventId, endpointId }),
    event_id: eventId,
    account_id: accountId,
    since: formatTime(since),
    reason,
  };
}

function toRow({ delivery_id, event_id, account_id, since, reason }: ReturnType<typeof presentRefused>) {
  return [delivery_id ?? event_id, account_id, since, reason].map(withoutControls);
}

const retryFlagsSchema = z.object({ json: jsonSchema });
const SHOWN_EVERY = 5_000;

export function addRetryRefused(history: Command, { output, withContext }: Cli): void {
  history
    .command('retry-refused')
    .description('Let workers move refused events again, after you have removed the cause.')
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { json } = parseFlags(retryFlagsSchema, given);
      await withContext(async ({ refusedRecords }) => {
        let shown = 0;
        const showProgress = (count: number) => {
          if (count - shown < SHOWN_EVERY) return;
          shown = count;
          output.error(`Retried ${count} so far.\n`);
        };
        const count = await refusedRecords.retry(showProgress);
        output.out(json ? formatJson({ retried: count }) : `Retried ${count}.\n`);
        if (count === 0) return;
        output.error(
          'Workers move it within HISTORY_MOVE_AFTER. To see those that are refused again: hookferry-admin history refused\n',
        );
      });
    });
}
