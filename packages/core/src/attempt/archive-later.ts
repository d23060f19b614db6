import type { Emit } from '../model/signals';
import type { ArchiveRecord } from '../record/archive-record';
import { persistFor } from '../record/persist-for';
import type { ArchiveStream } from '../record/redis-archive-stream';

export interface ArchiveLaterDeps {
  readonly archiveStream?: Pick<ArchiveStream, 'add'> | undefined;
  readonly emit: Emit;
}

/**
 * Hands on to the archive what it could not get when it was put on record: Redis was full for a moment, say, or in a
 * Cluster the stream's node is away. The attempt is not made again, so nothing else would do it. An attempt that gets
 * there twice is in the archive once.
 */
export function createArchiveLater({ archiveStream, emit }: ArchiveLaterDeps) {
  return async function archiveLater(record: ArchiveRecord | undefined, signal: AbortSignal): Promise<void> {
    if (!record || !archiveStream) return;
    await persistFor(record, () => archiveStream.add(record), { signal, emit });
  };
}
