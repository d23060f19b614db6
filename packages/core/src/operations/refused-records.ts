import type { AsideEntry, OverList } from '../events/redis-over-list';
import type { Clock } from '../platform/clock';

export interface RefusedRecordsParts {
  readonly overList: OverList;
  readonly clock: Clock;
}

export interface RefusedList {
  readonly found: readonly AsideEntry[];
  /** How many there are, if these are not all. */
  readonly count: number | undefined;
}

/** Finished deliveries that PostgreSQL refuses. They stay in Redis, and are shown from there. */
export class RefusedRecords {
  constructor(private readonly parts: RefusedRecordsParts) {}

  /** Some of them, in no order. */
  async list(limit: number): Promise<RefusedList> {
    const { overList } = this.parts;
    const found = new Map<string, AsideEntry>();
    let cursor: string | undefined;
    do {
      const { entries, nextCursor } = await overList.listAside(cursor);
      // One may come twice.
      for (const entry of entries) {
        found.set(`${entry.accountId} ${entry.eventId} ${entry.endpointId}`, entry);
      }
      cursor = nextCursor;
    } while (cursor !== undefined && found.size <= limit);
    const count = found.size > limit ? await overList.countAside() : undefined;
    return { found: [...found.values()].slice(0, limit), count };
  }

  /**
   * Let workers try them again.
   *
   * @param tell how many were put back so far.
   * @returns how many were put back.
   */
  async retry(tell: (count: number) => void): Promise<number> {
    const { overList, clock } = this.parts;
    return await overList.putBackAside(clock(), tell);
  }
}
