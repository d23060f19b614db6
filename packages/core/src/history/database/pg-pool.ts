import { Pool, type PoolClient, type PoolConfig } from 'pg';
import { settledWithin } from '../../platform/timers';

const CONNECT_TIMEOUT_MS = 2_000;

/**
 * @param onConnect what each connection begins with that nobody shares.
 * @param patienceMs for each statement; absent: it may take as long as it does.
 */
export function openPool(config: PoolConfig, onConnect: string, patienceMs?: number): Pool {
  const pool = new Pool({
    ...config,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    verify: (client, done) => void verify(client, onConnect, patienceMs, done),
  });
  // An idle connection broke: the next use opens another one.
  pool.on('error', ignore);
  return pool;
}

/**
 * Connections to a pooler, such as PgBouncer. It may give each transaction another connection of the server: what was
 * set for one, or prepared there, is somebody else's afterwards.
 */
const shared = new WeakSet<PoolClient>();

export function isShared(client: PoolClient): boolean {
  return shared.has(client);
}

async function verify(
  client: PoolClient,
  onConnect: string,
  patienceMs: number | undefined,
  done: (error?: Error) => void,
): Promise<void> {
  client.on('error', ignore);
  try {
    await prepare(client, onConnect);
    if (patienceMs !== undefined) waitPatiently(client, patienceMs);
  } catch (error) {
    done(error as Error);
    return;
  } finally {
    client.off('error', ignore);
  }
  done();
}

async function prepare(client: PoolClient, onConnect: string): Promise<void> {
  const ask = async <Row extends object>(text: string) =>
    await repliedWithin(CONNECT_TIMEOUT_MS, client.query<Row>(text));
  const { rows } = await ask<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  // A pooler names a process of its own, or none, when a client connects.
  if (rows[0]?.pid === Reflect.get(client, 'processID')) {
    await ask(onConnect);
  } else {
    shared.add(client);
    leaveNamesOut(client);
  }
}

/**
 * A statement whose time is over rejects, and its connection is closed by those who use it. pg's own `query_timeout` fires
 * before a process that stood still has read what PostgreSQL sent meanwhile.
 */
function waitPatiently(client: PoolClient, patienceMs: number): void {
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
  client.query = ((...args: unknown[]) => repliedWithin(patienceMs, query(...args))) as typeof client.query;
}

async function repliedWithin<Reply>(patienceMs: number, asked: Promise<Reply>): Promise<Reply> {
  if (await settledWithin(patienceMs, asked)) return await asked;
  throw new Error(`PostgreSQL did not reply within ${patienceMs} ms.`);
}

/** Without a name a statement is parsed and planned each time. */
function leaveNamesOut(client: PoolClient): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  client.query = ((statement: unknown, ...rest: unknown[]) =>
    query(
      typeof statement === 'object' ? { ...statement, name: undefined } : statement,
      ...rest,
    )) as typeof client.query;
}

function ignore(): void {}
