import { AppError } from './app-error';
import { type Clock, steadyClock, systemClock } from './clock';
import { mastersOf, type RedisClient } from './redis-connect';
import { WakeUpTimer } from './timers';

/** The clock of this machine differs from that of Redis, by more than before: it is told once. */
export interface ClockSkewedSignal {
  readonly name: 'clock.skewed';
  /** By how much this machine is ahead; negative if it is behind. */
  readonly skewMs: number;
  /** Whether the difference is so large that this process accepts and sends nothing. */
  readonly isTooLarge: boolean;
  readonly detail: string;
}

/** The two clocks agree again. */
export interface ClockRightSignal {
  readonly name: 'clock.right';
  readonly skewMs: number;
}

export interface RedisClockOptions {
  readonly redis: RedisClient;
  readonly emit: (signal: ClockSkewedSignal | ClockRightSignal) => void;
  /** The clock of the machine, which someone may set. */
  readonly machine?: Clock;
  /** For spans of time: it never jumps. */
  readonly steady?: Clock;
}

/** Time synchronisation keeps machines within some milliseconds of each other: this is none. */
export const TOLD_FROM_MS = 2_000;
// Lower, so that a difference about as large as that is told once.
const RIGHT_BELOW_MS = 1_000;
/** Receivers refuse a `webhook-timestamp` that is five minutes off. This leaves a margin for their own clocks. */
export const TOO_LARGE_FROM_MS = 60_000;

const MEASURE_EVERY_S = 5;
const RETRY_MS = 250;

/** The earliest and the latest that a server's clock can be ahead of the steady one. Milliseconds. */
interface Bounds {
  readonly least: number;
  readonly most: number;
}

type Standing = 'right' | 'told' | 'too_large';

/**
 * The time of Redis, in a process: the one clock that all processes share, and that the scripts read themselves.
 * It counts by the steady clock from the last time that Redis told. So it is right whatever the clock of this machine
 * says, also at the moment when someone sets that, and it costs a caller no command.
 *
 * Redis read its clock between the request and the reply. So each reply gives bounds, and the clock is moved only as far
 * as they prove that it is wrong: a slow reply does not make it worse. It is as exact as half of the fastest round trip.
 * It steps back when Redis' own clock does, such as at a fail-over to a machine with another time. It stands still while
 * the machine sleeps, until the next measurement. Whatever removes or lends something asks Redis for `TIME` in its script.
 *
 * In a Cluster it is the clock of the master in the middle, and the difference is that from the farthest one.
 */
export class RedisClock {
  readonly #redis: RedisClient;
  readonly #emit: RedisClockOptions['emit'];
  readonly #machine: Clock;
  readonly #steady: Clock;
  readonly #timer = new WakeUpTimer(() => this.#measure());
  readonly #onReady = () => void this.#timer.runNow();
  #aheadMs: number;
  #measured: readonly Bounds[] = [];
  #standing: Standing = 'right';
  #onChange: (isTrusted: boolean) => void = () => {};
  #settle: (isKnown: boolean) => void = () => {};
  /** Resolves with true once Redis has told its time; with false when the process stops before that. */
  readonly known = new Promise<boolean>((resolve) => {
    this.#settle = resolve;
  });

  constructor({ redis, emit, machine = systemClock, steady = steadyClock }: RedisClockOptions) {
    this.#redis = redis;
    this.#emit = emit;
    this.#machine = machine;
    this.#steady = steady;
    // Nobody may rely on it before the first measurement: see `isTrusted`.
    this.#aheadMs = machine() - steady();
  }

  /** Milliseconds since the Unix epoch, whole ones. */
  readonly now: Clock = () => Math.floor(this.#steady() + this.#aheadMs);

  /** By how much the clock of this machine is ahead of Redis; negative: behind. `undefined` before Redis has told. */
  get skewMs(): number | undefined {
    const aheadMs = this.#machine() - this.#steady();
    let farthest: number | undefined;
    for (const { least, most } of this.#measured) {
      const skew = aheadMs - Math.min(Math.max(aheadMs, least), most);
      if (farthest === undefined || Math.abs(skew) > Math.abs(farthest)) farthest = skew;
    }
    return farthest;
  }

  /** Whether this process may accept and sign: the two clocks differ by a minute at most. */
  get isTrusted(): boolean {
    const { skewMs } = this;
    return skewMs !== undefined && Math.abs(skewMs) <= TOO_LARGE_FROM_MS;
  }

  /** How far the two clocks differ, for operators. */
  describe(): string {
    return describeSkew(this.skewMs);
  }

  /**
   * Refuse what must not be done by a wrong clock. Only for callers that find it not trusted: it asks Redis once more, as
   * the machine may just have slept.
   *
   * @throws AppError `clock_skewed`.
   */
  async requireTrusted(): Promise<void> {
    await this.#timer.runNow();
    if (this.isTrusted) return;
    throw new AppError('clock_skewed', this.describe(), { retryAfterMs: MEASURE_EVERY_S * 1_000 });
  }

  /** @param onChange called whenever `isTrusted` has changed, and after the first measurement. Resolves after that one. */
  async start(onChange: (isTrusted: boolean) => void = () => {}): Promise<void> {
    this.#onChange = onChange;
    this.#redis.on('ready', this.#onReady);
    void this.#timer.runNow();
    if (await this.known) onChange(this.isTrusted);
  }

  async stop(): Promise<void> {
    this.#settle(false);
    this.#redis.off('ready', this.#onReady);
    await this.#timer.stop();
  }

  async #measure(): Promise<void> {
    try {
      const masters = [...mastersOf(this.#redis).values()];
      const found = await Promise.all(masters.map((master) => this.#ask(() => master.time())));
      const middle = found.toSorted((a, b) => a.least - b.least)[Math.floor(found.length / 2)];
      if (middle !== undefined) this.#take(found, middle);
      this.#timer.wakeUpInAbout(MEASURE_EVERY_S);
    } catch {
      // The connection itself tells that it is away.
      this.#timer.wakeUpIn(this.#measured.length === 0 ? RETRY_MS : MEASURE_EVERY_S * 1_000);
    }
    this.#emitStanding();
  }

  async #ask(time: () => Promise<readonly (number | string)[]>): Promise<Bounds> {
    const askedAt = this.#steady();
    const [seconds = 0, microseconds = 0] = await time();
    const at = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    return { least: at - this.#steady(), most: at - askedAt };
  }

  #take(found: readonly Bounds[], { least, most }: Bounds): void {
    const isFirst = this.#measured.length === 0;
    this.#measured = found;
    this.#aheadMs = isFirst ? (least + most) / 2 : Math.min(Math.max(this.#aheadMs, least), most);
    this.#settle(true);
  }

  #emitStanding(): void {
    const { skewMs } = this;
    if (skewMs === undefined) return;
    const before = this.#standing;
    this.#standing = standingOf(skewMs, before);
    if (this.#standing === before) return;
    if ((this.#standing === 'too_large') !== (before === 'too_large')) this.#onChange(this.isTrusted);
    if (this.#standing === 'right') return this.#emit({ name: 'clock.right', skewMs: Math.round(skewMs) });
    this.#emit({
      name: 'clock.skewed',
      skewMs: Math.round(skewMs),
      isTooLarge: this.#standing === 'too_large',
      detail: describeSkew(skewMs),
    });
  }
}

function standingOf(skewMs: number, before: Standing): Standing {
  const size = Math.abs(skewMs);
  if (size > TOO_LARGE_FROM_MS) return 'too_large';
  if (size > TOLD_FROM_MS) return 'told';
  return size <= RIGHT_BELOW_MS || before === 'right' ? 'right' : 'told';
}

function describeSkew(skewMs: number | undefined): string {
  if (skewMs === undefined) return 'Redis has not told its time yet.';
  const seconds = (Math.abs(skewMs) / 1_000).toFixed(1);
  const which = `The clock of this machine is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} that of Redis.`;
  return `${which} Set the wrong one of the two, and keep both machines synchronised (NTP).`;
}
