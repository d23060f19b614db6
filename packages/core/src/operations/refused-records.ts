import { EndedList, type RefusedEntry } from '../events/redis-ended-list';
import type { Clock } from '../platform/clock';
import type { RedisClient } from '../platform/redis-connect';

export interface RefusedRecordsParts {
  readonly redis: RedisClient;
  readonly clock: Clock;
}

export interface RefusedList {
  readonly found: readonly RefusedEntry[];
  /** How many there are, if these are not all. */
  readonly count: number | undefined;
}

/** Finished deliveries that PostgreSQL refuses. They stay in Redis, and are shown from there. */
export class RefusedRecords {
  readonly #endedList: EndedList;

  constructor(private readonly parts: RefusedRecordsParts) {
    this.#endedList = new EndedList(parts.redis);
  }

  /** Some of them, in no order. */
  async list(limit: number): Promise<RefusedList> {
    const found = new Map<string, RefusedEntry>();
    let cursor: string | undefined;
    do {
      const { entries, nextCursor } = await this.#endedList.listRefused(cursor);
      // One may come twice.
      for (const entry of entries) {
        found.set(`${entry.accountId} ${entry.eventId} ${entry.endpointId}`, entry);
      }
      cursor = nextCursor;
    } while (cursor !== undefined && found.size <= limit);
    const count = found.size > limit ? await this.#endedList.countRefused() : undefined;
    return { found: [...found.values()].slice(0, limit), count };
  }

  /**
   * Let workers try them again.
   *
   * @param onProgress gets how many were put back so far.
   * @returns how many were put back.
   */
  async retry(onProgress: (count: number) => void): Promise<number> {
    return await this.#endedList.putRefusedBack(this.parts.clock(), onProgress);
  }
}
