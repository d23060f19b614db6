import type { EndedList, RefusedEntry } from '../events/redis-ended-list';
import type { Clock } from '../platform/clock';

export interface RefusedRecordsParts {
  readonly endedList: EndedList;
  readonly clock: Clock;
}

export interface RefusedList {
  readonly found: readonly RefusedEntry[];
  /** How many there are, if these are not all. */
  readonly count: number | undefined;
}

/** Finished deliveries that PostgreSQL refuses. They stay in Redis, and are shown from there. */
export class RefusedRecords {
  constructor(private readonly parts: RefusedRecordsParts) {}

  /** Some of them, in no order. */
  async list(limit: number): Promise<RefusedList> {
    const { endedList } = this.parts;
    const found = new Map<string, RefusedEntry>();
    let cursor: string | undefined;
    do {
      const { entries, nextCursor } = await endedList.listRefused(cursor);
      // One may come twice.
      for (const entry of entries) {
        found.set(`${entry.accountId} ${entry.eventId} ${entry.endpointId}`, entry);
      }
      cursor = nextCursor;
    } while (cursor !== undefined && found.size <= limit);
    const count = found.size > limit ? await endedList.countRefused() : undefined;
    return { found: [...found.values()].slice(0, limit), count };
  }

  /**
   * Let workers try them again.
   *
   * @param onProgress gets how many were put back so far.
   * @returns how many were put back.
   */
  async retry(onProgress: (count: number) => void): Promise<number> {
    const { endedList, clock } = this.parts;
    return await endedList.putRefusedBack(clock(), onProgress);
  }
}
