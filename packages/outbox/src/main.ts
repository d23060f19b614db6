import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import type { Pool } from 'pg';
import { openPool } from './pg-pool';
import { Relay, type RelayStatus, readStatus, republish } from './relay';
import { checkTable, DEFAULT_TABLE, migrate, migrationOf } from './table';

const USAGE = `hookferry-outbox COMMAND

  migrate                  make the table, unless it is there
  sql                      print the SQL that makes it, for your own migrations
  relay                    publish what is committed, until SIGTERM
  status                   how many events wait, and since when
  republish --since 1h     publish the events of that time again, under the same ids

Settings: DATABASE_URL, OUTBOX_TABLE (${DEFAULT_TABLE}); of relay alone: REDIS_URL, REDIS_CONFIRMED_BY (0), METRICS_PORT (none)
`;

const SAY_AGAIN_MS = 60_000;

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

class UsageError extends Error {}

function settingOf(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new UsageError(`${name} is not set.`);
  return value;
}

/** A time in the past. */
function timeBefore(text: string | undefined): Date {
  const [, amount, unit = ''] = /^(\d+)([smhd])$/.exec(text ?? '') ?? [];
  if (amount === undefined) throw new UsageError('Say how far back: --since 30m, 2h or 1d.');
  return new Date(Date.now() - Number(amount) * (UNITS[unit] ?? 0));
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function run(): Promise<void> {
  const options = { since: { type: 'string' }, help: { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [command, ...others] = positionals;
  if (values.help === true || command === undefined) return say(USAGE);
  const isOfRepublish = command === 'republish';
  if (others.length > 0 || (values.since !== undefined && !isOfRepublish)) throw new UsageError(USAGE);
  const table = process.env.OUTBOX_TABLE ?? DEFAULT_TABLE;
  if (command === 'sql') return say(migrationOf(table));
  if (!['migrate', 'relay', 'status', 'republish'].includes(command)) {
    throw new UsageError(`There is no command ${command}.\n\n${USAGE}`);
  }
  const from = isOfRepublish ? timeBefore(values.since) : undefined;
  const pool = openPool(settingOf('DATABASE_URL'));
  try {
    if (command === 'migrate') {
      await migrate(pool, table);
      return say(`The table ${table} is there.`);
    }
    checkTable(table);
    if (command === 'relay') await relayUntilStopped(pool, table);
    else if (from !== undefined) say(`${await republish(pool, table, from)} events are published again.`);
    else say(described(await readStatus(pool, table)));
  } finally {
    await pool.end();
  }
}

async function relayUntilStopped(pool: Pool, table: string): Promise<void> {
  const troubles = new Troubles();
  const relay = new Relay({
    pool,
    table,
    redisUrl: settingOf('REDIS_URL'),
    confirmedBy: Number(process.env.REDIS_CONFIRMED_BY ?? 0),
    onError: (error) => troubles.tell(error instanceof Error ? error.message : String(error)),
    onPublished: () => troubles.end(),
    onRolledBack: (events) =>
      process.stderr.write(`Redis went back to an earlier state: ${events} events are published again.\n`),
  });
  const port = process.env.METRICS_PORT;
  const metrics = createServer((_request, response) => {
    relay.status().then(
      (status) => response.setHeader('content-type', 'text/plain; version=0.0.4').end(metricsOf(status)),
      () => response.writeHead(503).end(),
    );
  });
  if (port !== undefined) metrics.listen(Number(port));
  relay.start();
  say('The relay runs. SIGTERM ends it.');
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
  metrics.close();
  await relay.stop();
}

/** Tells what fails when it begins, then once in a while, and that it is over. */
class Troubles {
  readonly #toldAt = new Map<string, number>();

  tell(text: string): void {
    if (Date.now() - (this.#toldAt.get(text) ?? 0) < SAY_AGAIN_MS) return;
    this.#toldAt.set(text, Date.now());
    process.stderr.write(`${text}\n`);
  }

  end(): void {
    if (this.#toldAt.size === 0) return;
    this.#toldAt.clear();
    process.stderr.write('The relay publishes again.\n');
  }
}

function described({ waiting, oldestAt, failed }: RelayStatus): string {
  const since = oldestAt === undefined ? '' : `, the oldest since ${oldestAt.toISOString()}`;
  return `${waiting} events wait${since}. ${failed} can't be published.`;
}

function metricsOf({ waiting, oldestAt, failed }: RelayStatus): string {
  const ageS = oldestAt === undefined ? 0 : (Date.now() - oldestAt.getTime()) / 1_000;
  return [
    '# HELP hookferry_outbox_waiting Events that are committed and not published yet.',
    '# TYPE hookferry_outbox_waiting gauge',
    `hookferry_outbox_waiting ${waiting}`,
    '# HELP hookferry_outbox_oldest_seconds For how long the oldest of them waits.',
    '# TYPE hookferry_outbox_oldest_seconds gauge',
    `hookferry_outbox_oldest_seconds ${ageS}`,
    "# HELP hookferry_outbox_failed Events that can't be published: the column error says why.",
    '# TYPE hookferry_outbox_failed gauge',
    `hookferry_outbox_failed ${failed}`,
    '',
  ].join('\n');
}

run().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
});
