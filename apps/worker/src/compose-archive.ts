import type { Emit } from '@hookferry/core/domain/signal';
import { Archiver } from '@hookferry/core/events/archive/archiver';
import { PgAttemptTable } from '@hookferry/core/events/archive/pg-attempt-table';
import { ArchiveStream } from '@hookferry/core/events/archive/redis-archive-stream';
import type { Clock } from '@hookferry/core/platform/clock';
import { type ConnectOptions, connectRedis } from '@hookferry/core/platform/redis-connect';
import type { Stoppable } from '@hookferry/core/platform/timers';
import type { WorkerConfig } from './config';

// One statement for all of them: more at once would save little, and hold up the process while they are put together.
const MAX_ARCHIVE_BATCH = 500;
const ARCHIVE_BATCH_BYTES = 8 * 1024 * 1024;
// Several times as long as the archiver waits for something to come.
const ARCHIVE_SILENCE_MS = 10_000;

interface ArchiveDeps {
  readonly connection: Omit<ConnectOptions, 'name'>;
  readonly workerId: string;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** What takes attempts to the archive, if there is one. */
export function composeArchive(config: WorkerConfig, { connection, workerId, clock, emit }: ArchiveDeps) {
  if (config.ARCHIVE_DATABASE_URL === undefined) return undefined;
  const redis = connectRedis({ ...connection, name: 'worker-archive', silenceMs: ARCHIVE_SILENCE_MS });
  const table = new PgAttemptTable({ url: config.ARCHIVE_DATABASE_URL });
  const archiver = new Archiver({
    stream: new ArchiveStream(redis),
    table,
    consumer: workerId,
    batchSize: archiveBatchOf(config),
    clock,
    emit,
  });
  const parts: Stoppable[] = [
    { name: 'archive table', stop: () => table.close() },
    { name: 'archive connection', stop: async () => redis.disconnect() },
  ];
  return { archiver, parts };
}

// An attempt takes as much memory as the answer that is kept of it.
function archiveBatchOf({ RESPONSE_BYTES_KEPT }: WorkerConfig): number {
  const fitting = Math.floor(ARCHIVE_BATCH_BYTES / Math.max(RESPONSE_BYTES_KEPT, 1));
  return Math.min(MAX_ARCHIVE_BATCH, Math.max(fitting, 1));
}
