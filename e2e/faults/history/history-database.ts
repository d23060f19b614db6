import { rm } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { PostgresServer } from '@hookferry/core/testing/postgres-server';
import type { IsMeant } from '../faulty-proxy';
import { mountSmallDisk, type SmallDisk } from '../redis/small-disk';

// More than the history of a run takes, and little enough to be filled at once.
const DISK_SIZE = '512m';
// The log that it writes ahead takes no more of the small disk than this.
const SETTINGS = ['max_wal_size=64MB', 'min_wal_size=32MB', 'max_connections=60', 'shared_buffers=32MB'];
/** As the service connects: no superuser, so that it can lose a right. */
const ROLE = 'hookferry';
const MENDED_WITHIN_MS = 60_000;
const TRY_AGAIN_AFTER_MS = 200;

/** The PostgreSQL that has the history of a run, on a disk of its own where one can be had. */
export class HistoryDatabase {
  private constructor(
    private readonly server: PostgresServer,
    private readonly disk: SmallDisk | undefined,
  ) {}

  static async start(): Promise<HistoryDatabase> {
    const disk = await mountSmallDisk(DISK_SIZE);
    const server = await PostgresServer.start({ folder: disk?.folder, settings: SETTINGS });
    await server.query(`CREATE ROLE ${ROLE} LOGIN`);
    await server.query(`GRANT ALL ON SCHEMA public TO ${ROLE}`);
    return new HistoryDatabase(server, disk);
  }

  get folder(): string {
    return this.server.folder;
  }

  get port(): number {
    return this.server.port;
  }

  /** As a HISTORY_DATABASE_URL. @param port of what stands before it. */
  urlAt(port: number): string {
    return `postgresql://${ROLE}@127.0.0.1:${port}/postgres`;
  }

  /** As its operator, past all proxies. */
  async query<Row>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return await this.server.query<Row>(sql, values);
  }

  async stop(): Promise<void> {
    await this.server.stop();
  }

  async crash(): Promise<void> {
    await this.server.crash();
  }

  async freeze(): Promise<void> {
    await this.server.freeze();
  }

  async thaw(): Promise<void> {
    await this.server.thaw();
  }

  /** Starts it, if it does not run, and waits until it replies: it may end once more while it recovers. */
  async mend(): Promise<void> {
    const giveUpAt = Date.now() + MENDED_WITHIN_MS;
    for (;;) {
      try {
        await this.server.start();
        await this.server.query('SELECT 1');
        return;
      } catch (error) {
        if (Date.now() > giveUpAt) throw error;
        await wait(TRY_AGAIN_AFTER_MS);
      }
    }
  }

  async remove(): Promise<void> {
    await this.server.crash();
    await this.disk?.remove();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** A statement on its way, by its whole text. */
export function isStatement(text: 'BEGIN' | 'COMMIT'): IsMeant {
  const sent = Buffer.from(`Q\0\0\0${String.fromCharCode(text.length + 5)}${text}\0`);
  return (chunk) => chunk.includes(sent);
}
