import {
  createQueueLayout,
  type QueueLayout,
  type QueueShard,
  type QueueShards,
  shardsAmong,
} from '../domain/queues';
import type { Emit } from '../domain/signal';
import { steadyClock } from '../platform/clock';
import { WakeUpTimer } from '../platform/timers';
import type { KnownLayouts, LayoutStore } from './redis-layout-store';

export interface ShardsInForceOptions {
  readonly layoutStore: Pick<LayoutStore, 'look' | 'isOnly'>;
  /** How many shards this process was told to have. */
  readonly wanted: number;
  readonly firstPrefix: string;
  readonly emit: Emit;
}

/** Told which shards there are, and again when there are others. @returns those that this process takes jobs from. */
export type OnShards = (shards: ShardsInForce) => readonly QueueShard[];

// Several times before another layout is in force.
const LOOK_EVERY_MS = 3_000;
const RETRY_MS = 250;
// The connection tells itself that it is away, and at the start of a process it is not there yet.
const FAILURES_TOLD = 20;
const UNSERVED_LOOKS = 5;
/** A process that has not looked for so long does not know whether there is another layout. */
const KNOWN_FOR_MS = 8_000;

/**
 * The shards that all processes go by, whatever each of them was told: what is in force is in Redis, and every process looks
 * every few seconds. So processes that were told different things agree, and say that they were.
 */
export class ShardsInForce implements QueueShards {
  readonly first: QueueShard;
  readonly #layouts = new Map<number, QueueLayout>();
  #shards: QueueShards;
  #known: KnownLayouts | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #served: readonly QueueShard[] = [];
  #unserved = { shards: '', times: 0 };
  #onShards: OnShards = () => [];
  readonly #timer = new WakeUpTimer(() => this.#lookNow());
  #hasToldWanted = false;
  #failures = 0;

  constructor(private readonly options: ShardsInForceOptions) {
    const layout = this.#layoutOf(options.wanted);
    this.first = layout.first;
    this.#shards = shardsAmong(layout, []);
  }

  /**
   * From now on it looks. Whoever takes jobs is told before it can know anything else. Resolves when it has looked once, be it
   * that it could or not.
   */
  async start(onShards: OnShards = () => []): Promise<void> {
    this.#onShards = onShards;
    await this.#timer.runNow();
  }

  async stop(): Promise<void> {
    await this.#timer.stop();
  }

  /** What is in force; `undefined` before the first look. */
  get known(): KnownLayouts | undefined {
    return this.#known;
  }

  /** Whether all processes go by the same layout, and nothing is left of others. */
  get isSettled(): boolean {
    if (steadyClock() - this.#lookedAt > KNOWN_FOR_MS) return false;
    return this.#known?.others.every(({ leftSince }) => leftSince !== undefined) ?? false;
  }

  /** In the order of the layout in force. */
  inForce(): readonly QueueShard[] {
    return this.#layoutOf(this.#known?.inForce.count ?? this.options.wanted).shards;
  }

  all(): readonly QueueShard[] {
    return this.#shards.all();
  }

  homeShardOf(id: string): QueueShard {
    return this.#shards.homeShardOf(id);
  }

  homeShardsOf(id: string): readonly QueueShard[] {
    return this.#shards.homeShardsOf(id);
  }

  /** Those that no process puts anything into any more, as far as it knows. */
  former(): readonly QueueShard[] {
    const kept = new Set(this.inForce().map(({ prefix }) => prefix));
    const shards = this.#formerLayouts().flatMap((layout) => layout.shards);
    return shards.filter(({ prefix }) => !kept.has(prefix));
  }

  /** Where it was at home before: a worker may still be at it there. */
  formerHomeShardsOf(id: string): readonly QueueShard[] {
    const home = this.homeShardOf(id);
    const shards = this.#formerLayouts().map(({ shardOf }) => shardOf(id));
    return shards.filter(({ prefix }) => prefix !== home.prefix);
  }

  #formerLayouts(): readonly QueueLayout[] {
    const { inForce, others } = this.#known ?? { inForce: { since: 0 }, others: [] };
    return others.filter(({ since }) => since < inForce.since).map(({ count }) => this.#layoutOf(count));
  }

  async #lookNow(): Promise<void> {
    const { wanted, emit } = this.options;
    const startedAt = steadyClock();
    try {
      const changed = await this.#askForChange(this.#hasToldWanted ? undefined : wanted);
      this.#lookedAt = startedAt;
      this.#failures = 0;
      if (changed) this.#take(changed);
      this.#hasToldWanted = true;
      this.#timer.wakeUpIn(LOOK_EVERY_MS);
    } catch (error) {
      this.#failures += 1;
      if (this.#failures % FAILURES_TOLD === 0) {
        emit({ name: 'task.failed', task: 'look at shards', error });
      }
      this.#timer.wakeUpIn(RETRY_MS);
    }
  }

  /** What there is now; `undefined` if nothing was ever split, and nobody wants that: one command, however often it looks. */
  async #askForChange(wanted: number | undefined): Promise<KnownLayouts | undefined> {
    const { layoutStore } = this.options;
    const known = this.#known;
    const isUnsplit = known?.inForce.count === 1 && known.others.length === 0;
    if (isUnsplit && (await layoutStore.isOnly(known.inForce))) return undefined;
    return await layoutStore.look(
      wanted,
      this.#served.map(({ prefix }) => prefix),
    );
  }

  #take(known: KnownLayouts): void {
    const before = this.#known;
    this.#known = known;
    if (before === undefined || describe(before) !== describe(known)) {
      const others = known.others.map(({ count }) => this.#layoutOf(count));
      this.#shards = shardsAmong(this.#layoutOf(known.inForce.count), others);
      this.#served = this.#onShards(this);
    }
    if (before?.inForce.count !== known.inForce.count) this.#announce(known);
    this.#announceUnserved(known);
  }

  #announce({ inForce, others }: KnownLayouts): void {
    const { wanted, emit } = this.options;
    const isToCome = others.some(({ count, since }) => count === wanted && since > inForce.since);
    if (inForce.count !== wanted && !isToCome) {
      emit({ name: 'shards.disagree', wanted, inForce: inForce.count });
    }
    if (others.length > 0) emit({ name: 'shards.changed', inForce: inForce.count });
  }

  // Other workers may be about to start, or to say so: they are given some looks' time.
  #announceUnserved({ served }: KnownLayouts): void {
    const inForce = this.inForce();
    const shards = inForce.flatMap(({ prefix }, i) => (served.has(prefix) ? [] : [i])).join();
    this.#unserved = { shards, times: shards === this.#unserved.shards ? this.#unserved.times + 1 : 1 };
    if (shards === '' || this.#unserved.times !== UNSERVED_LOOKS || this.#served.length === 0) return;
    this.options.emit({ name: 'shards.unserved', shards });
  }

  #layoutOf(count: number): QueueLayout {
    const known = this.#layouts.get(count);
    if (known) return known;
    const layout = createQueueLayout(count, this.options.firstPrefix);
    this.#layouts.set(count, layout);
    return layout;
  }
}

function describe({ inForce, others }: KnownLayouts): string {
  return [inForce, ...others].map(({ count, since }) => `${count}@${since}`).join();
}
