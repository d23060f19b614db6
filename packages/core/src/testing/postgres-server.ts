import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { findClosedPort } from './local-server';

const DEBIAN_FOLDER = '/usr/lib/postgresql';
// PostgreSQL refuses to be run by root. This is `nobody`, here as on every Linux.
const NOBODY = 65_534;
const LOOK_EVERY_MS = 50;

/** Where PostgreSQL's programs are: in Debian's folder, the newest of them, or on the PATH. */
const binaries = findBinaries();
export const hasPostgres = binaries !== undefined;
export const NO_POSTGRES = `there is no PostgreSQL in ${DEBIAN_FOLDER} or on the PATH`;

/** Where PostgreSQL's programs are, and the environment that they need. */
export interface PostgresPrograms {
  readonly folder: string;
  readonly env?: NodeJS.ProcessEnv;
}

export interface PostgresOptions {
  /** By default those of this machine. */
  readonly programs?: PostgresPrograms | undefined;
  /** An empty folder for its data. By default a new one. */
  readonly folder?: string | undefined;
  /** More settings, each as `name=value`. */
  readonly settings?: readonly string[];
}

/**
 * A PostgreSQL of a test's own, to be stopped and started again: in a folder of its own, on the loopback
 * interface.
 */
export class PostgresServer {
  #child: ChildProcess | undefined;

  private constructor(
    readonly folder: string,
    readonly port: number,
    private readonly settings: readonly string[],
    readonly programs: PostgresPrograms,
  ) {}

  static async start({ settings = [], ...options }: PostgresOptions = {}): Promise<PostgresServer> {
    const programs = options.programs ?? { folder: binaries ?? '' };
    const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'webhooks-postgres-')));
    if (identity.uid !== undefined) await chown(folder, NOBODY, NOBODY);
    const initial = ['-D', folder, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    const { env = process.env } = programs;
    await promisify(execFile)(join(programs.folder, 'initdb'), initial, { ...identity, env, cwd: folder });
    const server = new PostgresServer(folder, await findClosedPort(), settings, programs);
    await server.start();
    return server;
  }

  get url(): string {
    return `postgresql://postgres@127.0.0.1:${this.port}/postgres`;
  }

  /** Does nothing when it runs. */
  async start(): Promise<void> {
    if (isRunning(this.#child)) return;
    const own = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', ...this.settings];
    const options = own.flatMap((setting) => ['-c', setting]);
    const program = join(this.programs.folder, 'postgres');
    this.#child = spawn(program, ['-D', this.folder, '-p', String(this.port), ...options], {
      ...identity,
      env: this.programs.env ?? process.env,
      cwd: this.folder,
      stdio: 'ignore',
    });
    while (!(await this.#answers())) {
      if (!isRunning(this.#child)) throw new Error(`PostgreSQL does not start on port ${this.port}.`);
      await wait(LOOK_EVERY_MS);
    }
  }

  /** Ends it as a power cut would. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!isRunning(child)) return;
    const exited = once(child, 'exit');
    // Its immediate shutdown: it takes its own processes along, which SIGKILL would leave behind.
    child.kill('SIGQUIT');
    await exited;
  }

  /** Ends it as an operator does: what is under way is rolled back. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (!isRunning(child)) return;
    const exited = once(child, 'exit');
    child.kill('SIGINT');
    await exited;
  }

  /** SIGKILL of all of its processes. */
  async crash(): Promise<void> {
    const child = this.#child;
    if (!isRunning(child)) return;
    const exited = once(child, 'exit');
    // The first one stops at once, so that it starts no others.
    child.kill('SIGSTOP');
    for (const id of await childrenOf(child)) signal(id, 'SIGKILL');
    child.kill('SIGKILL');
    await exited;
  }

  /** All of its processes stand still. */
  async freeze(): Promise<void> {
    this.#child?.kill('SIGSTOP');
    for (const id of await childrenOf(this.#child)) signal(id, 'SIGSTOP');
  }

  async thaw(): Promise<void> {
    for (const id of await childrenOf(this.#child)) signal(id, 'SIGCONT');
    this.#child?.kill('SIGCONT');
  }

  async query<Row>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = new Client({ connectionString: this.url });
    // When the server is killed, the query rejects. Without a listener the process would end as well.
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(sql, [...values])).rows as Row[];
    } finally {
      await client.end();
    }
  }

  /** Stop it and remove its data. */
  async close(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  async #answers(): Promise<boolean> {
    try {
      await this.query('SELECT 1');
      return true;
    } catch {
      if (this.#child?.exitCode != null) throw new Error('PostgreSQL does not start.');
      return false;
    }
  }
}

function isRunning(child: ChildProcess | undefined): child is ChildProcess {
  return child !== undefined && child.exitCode === null && child.signalCode === null;
}

/** Each of its processes but the first is in a group of its own. Linux tells them. */
async function childrenOf(child: ChildProcess | undefined): Promise<readonly number[]> {
  if (!isRunning(child)) return [];
  const ids = await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8');
  return ids.trim().split(' ').filter(Boolean).map(Number);
}

function signal(processId: number, name: NodeJS.Signals): void {
  try {
    process.kill(processId, name);
  } catch {
    // It has just ended.
  }
}

const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

function findBinaries(): string | undefined {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER) : [];
  const newestFirst = versions.toSorted((a, b) => Number(b) - Number(a));
  const folders = [
    ...newestFirst.map((version) => join(DEBIAN_FOLDER, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ];
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
}
