import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PostgresServer } from '@hookferry/core/testing/postgres-server';
import { cpuMsOf } from './measured-process';

/** Of a small machine of its own. All that is committed is on disk. */
export const POSTGRES_SETTINGS = [
  'fsync=on',
  'shared_buffers=1GB',
  'max_wal_size=4GB',
  'autovacuum_naptime=10s',
];

/** A PostgreSQL of a measurement's own. */
export async function startPostgres(): Promise<PostgresServer> {
  const postgres = await PostgresServer.start({ settings: POSTGRES_SETTINGS });
  // Also when the benchmark breaks off.
  if (started.length === 0) process.once('exit', () => started.forEach((each) => void each.kill()));
  started.push(postgres);
  return postgres;
}

const started: PostgresServer[] = [];

/** User and system time so far of all of its processes, those that have ended too, in milliseconds (Linux). */
export function postgresCpuMs({ folder }: PostgresServer): number {
  const pid = Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  const own = [pid, ...children.filter(Boolean).map(Number)];
  return own.reduce((sum, each) => sum + cpuMsOf(each, 'with ended children'), 0);
}
