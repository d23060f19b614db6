import { DELIVERIES_QUEUE, EVENTS_QUEUE } from '../domain/queues';
import { mapReply } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Step } from '../platform/redis-script';
import { createJobKeys } from './bullmq-layout';
import { leaveLayouts, listLayouts, lookAtLayouts } from './redis-layout-store.script';

/** A present or former number of shards of the queues. */
export interface KnownLayout {
  readonly count: number;
  /**
   * When a process first wanted it. Milliseconds since the Unix epoch; all times here are by Redis' clock.
   */
  readonly since: number;
  /** Since when no job is on a shard that only this layout has. */
  readonly leftSince: number | undefined;
}

export interface KnownLayouts {
  readonly now: number;
  /** The layout that all processes use. */
  readonly inForce: KnownLayout;
  /** Former layouts, and those that will be in force. */
  readonly others: readonly KnownLayout[];
  /** Prefixes of the shards that workers take jobs from. */
  readonly served: ReadonlySet<string>;
}

/**
 * A wanted layout is in force after this time: by then every living process knows of it, asks before it
 * sends, and has said so itself for some seconds.
 */
export const IN_FORCE_AFTER_MS = 10_000;
// A process that stood still, for example in a virtual machine, may go on with a layout that the others have
// left.
const KEPT_MS = 3_600_000;
const SERVED_FOR_MS = 15_000;

/** The layouts that the service's processes use. */
export class LayoutStore {
  readonly #usedKeys: readonly string[];

  constructor(
    private readonly redis: RedisClient,
    firstPrefix: string,
  ) {
    this.#usedKeys = [DELIVERIES_QUEUE, EVENTS_QUEUE].flatMap((queue) => {
      const { meta, priorityCounter } = createJobKeys(firstPrefix, queue);
      return [meta, priorityCounter];
    });
  }

  /**
   * @param wanted the number of shards that this process is configured with, when it starts.
   * @param served prefixes of the shards that it takes jobs from.
   */
  async look(wanted: number | undefined, served: readonly string[]): Promise<KnownLayouts> {
    const looked = await lookAtLayouts({
      used: this.#usedKeys,
      wanted: wanted === undefined ? undefined : String(wanted),
      inForceAfter: IN_FORCE_AFTER_MS,
      keptMs: KEPT_MS,
      servedMs: SERVED_FOR_MS,
      shards: served,
    })(this.redis);
    const inForce = Number(looked.inForce);
    const leftSince = new Map(pairsOf(looked.left));
    const known = pairsOf(looked.layouts).map(([count, since]): KnownLayout => {
      return { count, since, leftSince: leftSince.get(count) };
    });
    return {
      now: looked.now,
      inForce: known.find(({ count }) => count === inForce) ?? {
        count: inForce,
        since: 0,
        leftSince: undefined,
      },
      others: known.filter(({ count }) => count !== inForce),
      served: new Set(looked.served),
    };
  }

  /** Whether this layout still exists, and no other, by one command. */
  isOnly({ count, since }: Pick<KnownLayout, 'count' | 'since'>): Step<boolean> {
    return mapReply(
      listLayouts(),
      (layouts) => layouts.length === 2 && layouts[0] === String(count) && Number(layouts[1]) === since,
    );
  }

  /**
   * Report that no jobs are on shards that only these layouts have. Too soon after the last change, nothing
   * happens.
   */
  async leave(inForce: number, layouts: readonly number[]): Promise<void> {
    const empty = layouts.map(String);
    const unusedMs = 2 * IN_FORCE_AFTER_MS;
    await leaveLayouts({ unusedMs, inForce: String(inForce), empty })(this.redis);
  }
}

function pairsOf(flat: readonly string[]): readonly (readonly [number, number])[] {
  return flat.flatMap((value, i) =>
    i % 2 === 0 ? [[Number(value), Number(flat[i + 1] ?? 0)] as const] : [],
  );
}
