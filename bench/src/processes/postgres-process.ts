import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PostgresServer } from '@hookferry/core/testing/postgres-server';
import { cpuMsOf } from './measured-process';

// Of a small machine of its own. All that is committed is on disk.
const SETTINGS = ['fsync=on', 'shared_buffers=1GB', 'max_wal_size=4GB', 'autovacuum_naptime=10s'];

/** A PostgreSQL of a measurement's own, with the processor time and disk that it takes. */
export class PostgresProcess {
  private constructor(private readonly server: PostgresServer) {}

  static readonly settings = SETTINGS.join(', ');

  static async start(): Promise<PostgresProcess> {
    const server = await PostgresServer.start({ settings: SETTINGS });
    // Also when the benchmark breaks off.
    process.once('exit', () => void server.kill());
    return new PostgresProcess(server);
  }

  get url(): string {
    return this.server.url;
  }

  /** User and system time so far of all of its processes, those that have ended too, in milliseconds (Linux). */
  cpuMs(): number {
    const pid = Number(readFileSync(join(this.server.folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    const own = [pid, ...children.filter(Boolean).map(Number)];
    return own.reduce((sum, each) => sum + cpuMsOf(each, 'with ended children'), 0);
  }

  async query<Row>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return await this.server.query(sql, values);
  }

  async stop(): Promise<void> {
    await this.server.close();
  }
}
