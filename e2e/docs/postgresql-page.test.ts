import { exec } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PgAuditLog } from '@hookferry/core/history/database/pg-audit-log';
import { PgDatabase } from '@hookferry/core/history/database/pg-database';
import { dropDays } from '@hookferry/core/history/database/pg-days';
import { erasePayload } from '@hookferry/core/history/database/pg-erase';
import { PgHistory } from '@hookferry/core/history/database/pg-history';
import { HistoryWriter } from '@hookferry/core/history/database/pg-history-writer';
import { PgIntake } from '@hookferry/core/history/database/pg-intake';
import { migrate, requireSchema } from '@hookferry/core/history/database/pg-schema';
import { readBytes } from '@hookferry/core/history/database/pg-usage';
import { systemClock } from '@hookferry/core/platform/clock';
import { buildAct } from '@hookferry/core/testing/build-act';
import { buildMovedDelivery, buildMovedEvent } from '@hookferry/core/testing/build-moved-event';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '@hookferry/core/testing/postgres-server';
import { Client } from 'pg';
import { blocksOf, readPage } from './read-page';

if (!hasPostgres) console.warn(`SKIPPED: the roles of the page about PostgreSQL, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

describePostgres('the page about PostgreSQL', () => {
  let server: PostgresServer;
  const opened: PgDatabase[] = [];
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await server.close();
  });

  const urlOf = (role: string) => server.url.replace(/postgres@(.*)\/postgres$/, `${role}@$1/hookferry`);

  function openAs(role: string): PgDatabase {
    const database = new PgDatabase({ url: urlOf(role), applicationName: 'test', readers: 1, writers: 2 });
    opened.push(database);
    return database;
  }

  async function asSuperuser(statements: string): Promise<void> {
    const client = new Client({ connectionString: urlOf('postgres') });
    await client.connect();
    try {
      await client.query(statements);
    } finally {
      await client.end();
    }
  }

  it('gives the workers and the API the rights that they need, and the API no more', async () => {
    const [roles = '', before = '', after = '', ...rest] = blocksOf(await readPage('postgresql.md'), 'sql');
    expect(rest).toEqual([]);
    // A database can't be made along with something else.
    for (const statement of roles.split(';').filter((text) => text.trim() !== ''))
      await server.query(statement);
    await asSuperuser(before);
    const worker = openAs('hookferry_worker');
    await migrate(worker);
    await asSuperuser(after);

    const event = buildMovedEvent({ deliveries: [buildMovedDelivery()] });
    const writer = new HistoryWriter(worker, systemClock);
    expect(await writer.write([event], Number.POSITIVE_INFINITY)).toEqual({ kind: 'written' });
    const api = openAs('hookferry_api');
    await requireSchema(api);
    const { accountId, id } = event;
    const history = new PgHistory(api);
    expect(await history.findEvent(accountId, id)).toMatchObject({ id });
    expect((await history.listDeliveries({ accountId }, { limit: 10 })).entries).toHaveLength(1);
    const { bounds: _bounds, ...act } = buildAct({ action: 'event.erase_payload' });
    expect(await erasePayload(api, accountId, id, systemClock(), { ...act, accountId })).toBeDefined();
    expect((await new PgAuditLog(api).list({ of: accountId }, undefined, 10)).entries).toHaveLength(1);
    expect(await history.findEvent(accountId, id)).not.toHaveProperty('body');
    expect(await readBytes(api, [accountId])).toEqual([expect.any(Number)]);

    const intake = new PgIntake(api);
    const kept = {
      accountId,
      eventId: id,
      acceptedAt: systemClock(),
      digest: '',
      text: '{}\n{}',
      endpointIds: [],
    };
    expect([await intake.add([kept]), await intake.add([{ ...kept }])]).toMatchObject([
      [{ kind: 'added' }],
      [{ kind: 'there' }],
    ]);
    await intake.remove([kept]);

    const attempts = [
      'DELETE FROM webhook_events',
      'DELETE FROM webhook_audit',
      'DROP TABLE webhook_events',
      'CREATE TABLE mine ()',
    ];
    for (const statement of attempts) {
      await expect(api.connected((client) => client.query(statement))).rejects.toMatchObject({
        code: '42501',
      });
    }
    expect((await dropDays(worker, systemClock())).done).toContain('webhook_events_k90_20231114');
  });

  it('is restored over newer data by the command of the page about backups', async () => {
    const [, restore = ''] = /^ *(pg_restore .*)$/m.exec(await readPage('backup.md')) ?? [];
    const worker = openAs('hookferry_worker');
    const write = async () => {
      const event = buildMovedEvent({ createdAt: systemClock(), deliveries: [buildMovedDelivery()] });
      await new HistoryWriter(worker, systemClock).write([event], Number.POSITIVE_INFINITY);
      return event;
    };
    const kept = await write();
    const folder = await mkdtemp(join(tmpdir(), 'hookferry-restore-'));
    const run = async (command: string) =>
      await promisify(exec)(command, {
        cwd: folder,
        env: {
          ...server.programs.env,
          PATH: `${server.programs.folder}:${process.env.PATH}`,
          PGHOST: '127.0.0.1',
          PGPORT: String(server.port),
          PGUSER: 'postgres',
        },
      });
    await run('pg_dump --format=custom --file=history.dump hookferry');
    const later = await write();
    // The day after the backup.
    await asSuperuser(
      "CREATE TABLE later PARTITION OF webhook_events FOR VALUES FROM (90, '2100-01-01') TO (90, '2100-01-02')",
    );
    await Promise.all(opened.splice(0).map((database) => database.close()));

    expect(await run(restore)).toEqual({ stdout: '', stderr: '' });
    await rm(folder, { recursive: true });
    const history = new PgHistory(openAs('hookferry_api'));
    expect(await history.findEvent(kept.accountId, kept.id)).toMatchObject({ id: kept.id });
    expect(await history.findEvent(later.accountId, later.id)).toBeUndefined();
    await expect(asSuperuser("SELECT 'later'::regclass")).rejects.toThrow('relation "later" does not exist');
  });
});
