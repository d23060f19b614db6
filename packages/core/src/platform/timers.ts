import { steadyClock } from './clock';

/** The result; `undefined` when the work failed or took too long. */
export async function answerWithin<Answer>(
  patienceMs: number,
  asked: Promise<Answer>,
): Promise<Answer | undefined> {
  const isSettled = await settledWithin(patienceMs, asked);
  return isSettled ? await asked.catch(() => undefined) : undefined;
}

/**
 * Resolves when the work has ended, successfully or not, or when its time is over. Gives whether it has
 * ended.
 */
export async function settledWithin(patienceMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeIsOver = new Promise<false>((resolve) => {
    const keep = (next: NodeJS.Timeout) => {
      timer = next;
    };
    startPatience(patienceMs, () => resolve(false), keep);
  });
  const hasEnded = work.then(
    () => true,
    () => true,
  );
  const isSettled = await Promise.race([hasEnded, timeIsOver]);
  clearTimeout(timer);
  return isSettled;
}

// In the next turn of the event loop what has arrived is read.
const A_TURN_MS = 10;

/**
 * A timer for a wait for others, which `keep` gets for `clearTimeout`: `onOver` is called when they had so much time. While
 * this process stands still, on a busy machine or in a long turn of its own, it reads no reply, and what it asked may not have
 * left it. A timer that is late shows that: the time is given back, once, and no more than was waited for. A timer that is in
 * time may be the first to run after that as well: at least a turn is given.
 */
export function startPatience(
  patienceMs: number,
  onOver: () => void,
  keep: (timer: NodeJS.Timeout) => void,
): void {
  const dueAt = steadyClock() + patienceMs;
  const onDue = () => {
    const lateMs = steadyClock() - dueAt;
    keep(setTimeout(onOver, Math.min(Math.max(lateMs, A_TURN_MS), patienceMs)));
  };
  keep(setTimeout(onDue, patienceMs));
}

const BEAT_MS = 1_000;
// A beat comes some milliseconds late. A call that it lets by comes with the next one, as late.
const LATE_MS = 100;

/**
 * Calls that are made about every so many seconds, all parts of a process together. A wake-up costs a process that has
 * nothing else to do more than most of that work, and scripts of the same moment go to Redis as one. A process that
 * stood still makes up for it with the first beat.
 */
class Beats {
  /** When each is due, by the steady clock. */
  readonly #calls = new Map<() => void, number>();
  #timer: NodeJS.Timeout | undefined;

  /** Call once, `seconds` from now or up to one sooner, in place of what was asked for before. */
  callIn(seconds: number, call: () => void): void {
    this.#calls.set(call, steadyClock() + seconds * BEAT_MS);
    this.#timer ??= setTimeout(() => this.#beat(), BEAT_MS);
  }

  cancel(call: () => void): void {
    this.#calls.delete(call);
    if (this.#calls.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #beat(): void {
    const now = steadyClock();
    this.#timer = setTimeout(() => this.#beat(), BEAT_MS);
    for (const [call, dueAt] of this.#calls) {
      if (dueAt - now > BEAT_MS - LATE_MS) continue;
      this.cancel(call);
      call();
    }
  }
}

export const beats = new Beats();

/**
 * Runs a piece of work at wake-ups: one timer, and never two runs at the same time. The work must not reject.
 * It asks for its next wake-up itself.
 */
export class WakeUpTimer {
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #running: Promise<unknown> | undefined;
  /** The run that follows the present one. */
  #next: Promise<void> | undefined;
  #isStopped = false;

  constructor(private readonly work: () => Promise<unknown>) {}

  readonly #onBeat = () => void this.runNow();

  /** Whether no run is active or due. */
  get isIdle(): boolean {
    return this.#dueAt === Number.POSITIVE_INFINITY && this.#running === undefined;
  }

  /** Run the work after a delay in milliseconds, or sooner if an earlier wake-up is set already. */
  wakeUpIn(delayMs: number): void {
    const dueAt = steadyClock() + delayMs;
    if (this.#isStopped || dueAt >= this.#dueAt) return;
    this.#clear();
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => void this.runNow(), delayMs);
  }

  /** Run the work after a delay in milliseconds, or up to two seconds sooner, together with other parts. */
  wakeUpWithin(delayMs: number): void {
    if (delayMs < BEAT_MS) this.wakeUpIn(delayMs);
    else this.wakeUpInAbout(Math.floor(delayMs / BEAT_MS));
  }

  /** Run the work in about so many seconds, together with other parts, or sooner if an earlier wake-up is set already. */
  wakeUpInAbout(seconds: number): void {
    const dueAt = steadyClock() + seconds * BEAT_MS;
    if (this.#isStopped || dueAt >= this.#dueAt) return;
    this.#clear();
    this.#dueAt = dueAt;
    beats.callIn(seconds, this.#onBeat);
  }

  /**
   * Run the work at once, or right after the present run, instead of the wake-up that was set. Callers during
   * a run share the next one. Also works after `stop`, for example for remaining work.
   */
  async runNow(): Promise<void> {
    this.#clear();
    if (this.#next === undefined && this.#running !== undefined) {
      this.#next = this.#running.then(() => this.#run());
    }
    await (this.#next ?? this.#run());
  }

  /** Cancel the wake-up, refuse further ones, and wait for the present run. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#clear();
    await (this.#next ?? this.#running);
  }

  async #run(): Promise<void> {
    this.#next = undefined;
    this.#running = this.work().finally(() => {
      this.#running = undefined;
    });
    await this.#running;
  }

  #clear(): void {
    clearTimeout(this.#timer);
    beats.cancel(this.#onBeat);
    this.#timer = undefined;
    this.#dueAt = Number.POSITIVE_INFINITY;
  }
}

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 2_000;

/** Tries `action` once it is started and, as long as it fails, repeatedly at growing intervals. */
export class Repetition {
  #isDone = false;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly action: () => Promise<void>) {}

  get isDone(): boolean {
    return this.#isDone;
  }

  /** Resolves after the first try, successful or not. */
  async start(): Promise<void> {
    await this.#attempt(FIRST_DELAY_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #attempt(delayMs: number): Promise<void> {
    try {
      await this.action();
      this.#isDone = true;
    } catch {
      // The parts that `action` uses announce their own errors.
      if (this.#isStopped) return;
      const nextMs = Math.min(delayMs * 2, MAX_DELAY_MS);
      this.#timer = setTimeout(() => void this.#attempt(nextMs), delayMs);
    }
  }
}

/**
 * A reading is shared by all callers for a while, however many they are. A failed one is not kept.
 *
 * @param now milliseconds, of a clock that never jumps.
 */
export function createKeepFor<Value>(keptMs: number, read: () => Promise<Value>, now: () => number) {
  let kept: { readonly value: Promise<Value>; readonly since: number } | undefined;
  return async function current(): Promise<Value> {
    if (kept && now() - kept.since < keptMs) return await kept.value;
    const reading = { value: read(), since: now() };
    kept = reading;
    try {
      return await reading.value;
    } catch (error) {
      if (kept === reading) kept = undefined;
      throw error;
    }
  };
}

/** Something that was started and has to be stopped; `name` is for the log. */
export interface Stoppable {
  readonly name: string;
  stop(): Promise<void>;
}

/** Runs `stop` at the first SIGTERM or SIGINT. Later signals are ignored: the first one is being obeyed. */
export function onStopSignal(stop: (signal: NodeJS.Signals) => void): void {
  let stopping = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) return;
      stopping = true;
      stop(signal);
    });
  }
}

/** Stop parts one after the other, in the given order: sources of work first, their dependencies last. */
export async function stopInOrder(
  parts: readonly Stoppable[],
  onFailure: (name: string, error: unknown) => void,
): Promise<void> {
  for (const part of parts) {
    try {
      await part.stop();
    } catch (error) {
      onFailure(part.name, error);
    }
  }
}
