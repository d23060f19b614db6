import type { ArchiveRecord } from '../archive/archive-record';
import type { ArchiveStream } from '../archive/redis-archive-stream';
import { persist } from '../runtime/persist';
import type { Emit } from '../signals/signals';
import { deliveryIdOf } from './delivery-id';

export interface ArchiveLaterDeps {
  readonly archiveStream?: Pick<ArchiveStream, 'add'> | undefined;
  readonly emit: Emit;
}

const EVERY_MS = 1_000;

/**
 * Hands on to the archive what it could not get when it was put on record: Redis was full for a moment, say, or in a
 * Cluster the stream's node is away. The attempt is not made again, so nothing else would do it. An attempt that gets
 * there twice is in the archive once.
 */
export function createArchiveLater({ archiveStream, emit }: ArchiveLaterDeps) {
  return async function archiveLater(record: ArchiveRecord | undefined, signal: AbortSignal): Promise<void> {
    if (!record || !archiveStream) return;
    const deliveryId = deliveryIdOf(record);
    const onFailure = (error: unknown) => emit({ name: 'delivery.follow_up_failed', deliveryId, error });
    await persist(() => archiveStream.add(record), { everyMs: EVERY_MS, signal, onFailure });
  };
}
