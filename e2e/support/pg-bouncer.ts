import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import type { PostgresServer } from '@hookferry/core/testing/postgres-server';
import { Client } from 'pg';
import { until } from './until';

// PgBouncer refuses to be run by root. This is `nobody`, here as on every Linux.
const NOBODY = 65_534;
/** Fewer than the processes of a test have, so that they do share them. */
const SERVER_CONNECTIONS = 3;

export interface PgBouncerProgram {
  readonly command: readonly [string, ...string[]];
  readonly version: string;
}

/** A PgBouncer before a PostgreSQL, which gives each transaction whichever connection is free. */
export class PgBouncer {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    readonly url: string,
  ) {}

  static async start({ command }: PgBouncerProgram, postgres: PostgresServer): Promise<PgBouncer> {
    const [program, ...args] = command;
    const folder = await mkdtemp(join(tmpdir(), 'webhooks-pgbouncer-'));
    const port = await findClosedPort();
    const users = join(folder, 'users.txt');
    const file = join(folder, 'pgbouncer.ini');
    const lines = [
      '[databases]',
      `postgres = host=127.0.0.1 port=${postgres.port} dbname=postgres`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${users}`,
      'pool_mode = transaction',
      `default_pool_size = ${SERVER_CONNECTIONS}`,
    ];
    await writeFile(users, '"postgres" ""\n');
    await writeFile(file, `${lines.join('\n')}\n`);
    const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
    if (identity.uid !== undefined)
      for (const path of [folder, users, file]) await chown(path, NOBODY, NOBODY);
    const child = spawn(program, [...args, file], { ...identity, cwd: folder, stdio: 'ignore' });
    const bouncer = new PgBouncer(child, folder, `postgresql://postgres@127.0.0.1:${port}/postgres`);
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`PgBouncer does not start: ${child.exitCode}.`);
      return (await bouncer.#answers()) ? true : undefined;
    });
    return bouncer;
  }

  async close(): Promise<void> {
    const exited = once(this.child, 'exit');
    if (this.child.exitCode === null && this.child.kill('SIGTERM')) await exited;
    await rm(this.folder, { recursive: true, force: true });
  }

  async #answers(): Promise<boolean> {
    const client = new Client({ connectionString: this.url });
    try {
      await client.connect();
      await client.query('SELECT 1');
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => {});
    }
  }
}
