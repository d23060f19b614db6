import {
  createQueueLayout,
  type QueueLayout,
  type QueueShard,
  type QueueShards,
  shardsAmong,
} from '../domain/queues';
import type { Emit } from '../domain/signal';
import { steadyClock } from '../platform/clock';
import type { Atomic } from '../platform/redis-atomic';
import { WakeUpTimer } from '../platform/timers';
import type { KnownLayout, KnownLayouts, LayoutStore } from './redis-layout-store';

export interface ShardsInForceOptions {
  readonly layoutStore: Pick<LayoutStore, 'look' | 'isOnly'>;
  /** The number of shards that this process is configured with. */
  readonly wanted: number;
  readonly firstPrefix: string;
  readonly atomic: Atomic;
  readonly emit: Emit;
}

/**
 * Called with the shards, and again when they change. @returns the shards that this process takes jobs from.
 */
export type OnShards = (shards: ShardsInForce) => readonly QueueShard[];

// Several times before another layout is in force.
const LOOK_EVERY_S = 3;
// It goes to Redis together with other scripts, if there are some within this time.
const PATIENCE_MS = 1_000;
const RETRY_MS = 250;
// The connection announces itself that it is away, and at the start of a process it is not there yet.
const FAILURES_REPORTED = 20;
const UNSERVED_LOOKS = 5;
/** A process that has not asked for this long does not know whether there is another layout. */
const KNOWN_FOR_MS = 8_000;

/**
 * The shards that all processes use, however each of them is configured. The layout in force is in Redis, and
 * every process reads it every few seconds. So processes with different settings agree, and report the
 * difference.
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
  readonly #timer = new WakeUpTimer(() => this.#readNow());
  #hasReportedWanted = false;
  #failures = 0;

  constructor(private readonly options: ShardsInForceOptions) {
    const layout = this.#layoutOf(options.wanted);
    this.first = layout.first;
    this.#shards = shardsAmong(layout, []);
  }

  /**
   * Start reading. `onShards` is called before any other part can see the shards. Resolves after the first
   * read, whether it succeeded or not.
   */
  async start(onShards: OnShards = () => []): Promise<void> {
    this.#onShards = onShards;
    await this.#timer.runNow();
  }

  async stop(): Promise<void> {
    await this.options.atomic([]);
    await this.#timer.stop();
  }

  /** The known layouts; `undefined` before the first read. */
  get known(): KnownLayouts | undefined {
    return this.#known;
  }

  /** Whether all processes use the same layout, and nothing is left of others. */
  get isStable(): boolean {
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

  /** The shards that no process uses for new jobs any more, as far as this one knows. */
  former(): readonly QueueShard[] {
    const kept = new Set(this.inForce().map(({ prefix }) => prefix));
    const shards = this.#formerLayouts().flatMap((layout) => layout.shards);
    return shards.filter(({ prefix }) => !kept.has(prefix));
  }

  #formerLayouts(): readonly QueueLayout[] {
    const { inForce, others } = this.#known ?? { inForce: { since: 0 }, others: [] };
    return others.filter(({ since }) => since < inForce.since).map(({ count }) => this.#layoutOf(count));
  }

  async #readNow(): Promise<void> {
    const { wanted, emit } = this.options;
    const startedAt = steadyClock();
    try {
      const changed = await this.#askForChange(this.#hasReportedWanted ? undefined : wanted);
      this.#lookedAt = startedAt;
      this.#failures = 0;
      if (changed) this.#take(changed);
      this.#hasReportedWanted = true;
      this.#timer.wakeUpInAbout(LOOK_EVERY_S);
    } catch (error) {
      this.#failures += 1;
      if (this.#failures % FAILURES_REPORTED === 0) {
        emit({ name: 'task.failed', task: 'read the number of shards', error });
      }
      this.#timer.wakeUpIn(RETRY_MS);
    }
  }

  /**
   * The present layouts; `undefined` if the queues were never split, and nobody wants that: one command,
   * however often it is called.
   */
  async #askForChange(wanted: number | undefined): Promise<KnownLayouts | undefined> {
    const { layoutStore } = this.options;
    const known = this.#known;
    const isUnsplit = known?.inForce.count === 1 && known.others.length === 0;
    if (isUnsplit && (await this.#isOnly(known.inForce))) return undefined;
    return await layoutStore.look(
      wanted,
      this.#served.map(({ prefix }) => prefix),
    );
  }

  async #isOnly(layout: KnownLayout): Promise<boolean> {
    const { layoutStore, atomic } = this.options;
    const patienceMs = this.#failures === 0 ? PATIENCE_MS : 0;
    const [isOnly] = await atomic([layoutStore.isOnly(layout)], patienceMs);
    return isOnly;
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

  // Other workers may be about to start, or to report: they get the time of some reads.
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
