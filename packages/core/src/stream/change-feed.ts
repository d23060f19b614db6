import type { AccountId } from '../domain/account';
import type { Emit, Signal, SignalNamed } from '../domain/signal';
import { type Clock, steadyClock } from '../platform/clock';
import { settledWithin, WakeUpTimer } from '../platform/timers';
import type { Change, ChangedDelivery, ChangeStore } from './redis-change-store';

export interface ChangeFeedParts {
  readonly changeStore: ChangeStore;
  /** How long changes are gathered, for one trip to Redis. Milliseconds. */
  readonly gatherMs: number;
  readonly clock: Clock;
  readonly emit: Emit;
}

/**
 * The watched accounts are read again after this time: this long after an account began to be watched, every
 * change is reported.
 */
export const KNOWN_FOR_MS = 2_000;
/** An API process reports sooner than a worker: a new delivery comes before its result. */
export const API_GATHER_MS = 10;
export const WORKER_GATHER_MS = 50;

const AFTER_FAULT_MS = 500;
/** Of a Redis that went back: by then every stream that is open is known there again. */
export const TELL_ROLLBACK_AFTER_MS = 3_000;
// Signals that wait until the watched accounts are known: usually for milliseconds.
const MOST_UNDECIDED = 1_000;
// Nothing depends on it.
const STOP_PATIENCE_MS = 1_000;

/**
 * Writes the changes that this process makes, for watched accounts, from its signals. It reads the watched
 * accounts when something has happened, once in two seconds at most; then a signal of an unwatched account
 * costs a map lookup. As long as this process lives, a `reset` reports changes that were not written: lists
 * and records are the truth.
 */
export class ChangeFeed {
  /** Of the watched accounts. */
  #backlogs: ReadonlyMap<AccountId, Backlog> = new Map();
  #askedAt = Number.NEGATIVE_INFINITY;
  #undecided: StreamedSignal[] = [];
  #hasLeftOut = false;
  /** Accounts with changes to write. */
  readonly #due = new Set<AccountId>();
  // One run at a time: changes during a run are gathered, within bounds.
  readonly #timer = new WakeUpTimer(() => this.#workAndGoOn());
  /** Whether a run is due or active. */
  #isScheduled = false;
  #rollbacks: Change[] = [];
  readonly #rollbackTimer = new WakeUpTimer(() => this.#tellRollbacks());

  constructor(private readonly parts: ChangeFeedParts) {}

  readonly listen = (signal: Signal): void => {
    if (signal.name === 'redis.rolled_back') return this.#addRollback(signal);
    if (!isStreamed(signal)) return;
    // In their order: none overtakes waiting ones.
    if (this.#undecided.length === 0 && this.#isKnown()) this.#add(signal);
    else if (this.#undecided.length < MOST_UNDECIDED) this.#undecided.push(signal);
    else this.#hasLeftOut = true;
    if (this.#undecided.length > 0) this.#workIn(this.parts.gatherMs);
  };

  /** Write the rest, unless Redis is away. */
  async stop(): Promise<void> {
    await settledWithin(
      STOP_PATIENCE_MS,
      Promise.all([this.#rollbackTimer.stop(), this.#timer.stop().then(() => this.#work())]),
    );
  }

  #addRollback({ since, until }: SignalNamed<'redis.rolled_back'>): void {
    this.#rollbacks.push({ kind: 'rolled_back', since: since ?? null, until });
    this.#rollbackTimer.wakeUpIn(TELL_ROLLBACK_AFTER_MS);
  }

  /** To all accounts that are watched. */
  async #tellRollbacks(): Promise<void> {
    const { changeStore, emit } = this.parts;
    const rollbacks = this.#rollbacks;
    this.#rollbacks = [];
    try {
      const watched = await changeStore.readWatched();
      await Promise.all(watched.map((account) => changeStore.append(account, rollbacks)));
    } catch (error) {
      emit({ name: 'task.failed', task: 'write to the stream of changes', error });
      this.#rollbacks.unshift(...rollbacks);
      this.#rollbackTimer.wakeUpIn(AFTER_FAULT_MS);
    }
  }

  #isKnown(): boolean {
    return steadyClock() - this.#askedAt < KNOWN_FOR_MS;
  }

  #add(signal: StreamedSignal): void {
    const backlog = this.#backlogs.get(signal.accountId);
    if (backlog === undefined) return;
    const changes = changesOf(signal, this.parts.clock());
    if (changes === 'too_many') backlog.overflow();
    else backlog.add(changes, steadyClock());
    this.#due.add(signal.accountId);
    this.#workIn(this.parts.gatherMs);
  }

  // Changes after a failure wait for the next try.
  #workIn(delayMs: number): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#timer.wakeUpIn(delayMs);
  }

  async #workAndGoOn(): Promise<void> {
    const isDone = await this.#work();
    // In the same step as the check: a signal between the two would wait for the next one.
    this.#isScheduled = false;
    if (this.#undecided.length + this.#due.size > 0) {
      this.#workIn(isDone ? this.parts.gatherMs : AFTER_FAULT_MS);
    }
  }

  /** Give whether Redis did what it was asked for. */
  async #work(): Promise<boolean> {
    const isDecided = this.#undecided.length === 0 || (await this.#decide());
    const due = [...this.#due];
    this.#due.clear();
    const written = await Promise.all(due.map((account) => this.#writeFor(account)));
    return isDecided && !written.includes(false);
  }

  async #decide(): Promise<boolean> {
    const { changeStore, emit } = this.parts;
    const askedAt = steadyClock();
    try {
      const watched = await changeStore.readWatched();
      const known = this.#backlogs;
      this.#backlogs = new Map(watched.map((account) => [account, known.get(account) ?? new Backlog()]));
      this.#askedAt = askedAt;
    } catch (error) {
      emit({ name: 'task.failed', task: 'find accounts with open streams', error });
    }
    // A reply that took this long says nothing about the last signals.
    if (!this.#isKnown()) return false;
    const decided = this.#undecided;
    this.#undecided = [];
    for (const signal of decided) this.#add(signal);
    if (this.#hasLeftOut) this.#missForAll();
    return true;
  }

  #missForAll(): void {
    this.#hasLeftOut = false;
    for (const [account, backlog] of this.#backlogs) {
      backlog.miss();
      this.#due.add(account);
    }
  }

  async #writeFor(account: AccountId): Promise<boolean> {
    const { changeStore, emit } = this.parts;
    const backlog = this.#backlogs.get(account);
    if (backlog === undefined) return true;
    const changes = backlog.take(steadyClock());
    try {
      if (changes.length > 0) await changeStore.append(account, changes);
      return true;
    } catch (error) {
      backlog.miss();
      emit({ name: 'task.failed', task: 'write to the stream of changes', error });
      return false;
    } finally {
      if (!backlog.isEmpty) this.#due.add(account);
    }
  }
}

/** The most changes of an account that one process reports in a second. */
export const MOST_A_SECOND = 500;
const SECOND_MS = 1_000;

const RESET: Change = { kind: 'reset' };

/**
 * The changes of one account that are still to be written. It holds a bounded number. Further ones are left
 * out, and a `reset` after them says so, once a second at most.
 */
export class Backlog {
  #changes: Change[] = [];
  #room = MOST_A_SECOND;
  #refillAt = 0;
  #isBehind = false;

  /** @param now of a clock that never jumps. Milliseconds. */
  add(changes: readonly Change[], now: number): void {
    this.#refill(now);
    if (this.#isBehind) return;
    if (changes.length > Math.min(this.#room, MOST_A_SECOND - this.#changes.length)) return this.overflow();
    this.#room -= changes.length;
    this.#changes.push(...changes);
  }

  /** It was too much for this second: no more changes of it are reported. */
  overflow(): void {
    this.#room = 0;
    this.#isBehind = true;
  }

  /** A change could not be written. */
  miss(): void {
    this.#isBehind = true;
  }

  /** The changes to write now. */
  take(now: number): readonly Change[] {
    this.#refill(now);
    const taken = this.#changes;
    this.#changes = [];
    if (!this.#isBehind || this.#room === 0) return taken;
    // This covers all earlier changes.
    this.#isBehind = false;
    this.#room -= 1;
    return [...taken, RESET];
  }

  get isEmpty(): boolean {
    return this.#changes.length === 0 && !this.#isBehind;
  }

  #refill(now: number): void {
    if (now < this.#refillAt) return;
    this.#room = MOST_A_SECOND;
    this.#refillAt = now + SECOND_MS;
  }
}

const streamedNames = [
  'event.fanned_out',
  'delivery.attempted',
  'delivery.held',
  'delivery.requested',
  'delivery.ended',
  'endpoint.created',
  'endpoint.updated',
  'endpoint.deleted',
  'endpoint.enabled',
  'endpoint.disabled',
  'endpoint.verified',
  'endpoint.verification_failed',
  'breaker.opened',
  'breaker.closed',
  'replay.progressed',
  'replay.ended',
] as const;
const streamed: ReadonlySet<Signal['name']> = new Set(streamedNames);

/** A signal of a change, which followers of its account get. */
export type StreamedSignal = SignalNamed<(typeof streamedNames)[number]> & { readonly accountId: AccountId };

export function isStreamed(signal: Signal): signal is StreamedSignal {
  return streamed.has(signal.name) && 'accountId' in signal && signal.accountId !== undefined;
}

/** An event with more receivers than this is not reported one by one. */
export const MOST_OF_ONE_EVENT = 200;

/**
 * @param now when it was announced. Milliseconds since the Unix epoch.
 */
export function changesOf(signal: StreamedSignal, now: number): readonly Change[] | 'too_many' {
  switch (signal.name) {
    case 'event.fanned_out':
      return createdBy(signal);
    case 'delivery.attempted':
      return [delivery('attempted', attempted(signal, now))];
    case 'delivery.held':
      return [delivery('held', { ...idsOf(signal), status: 'held' })];
    case 'delivery.requested':
      return [delivery('requested', { ...idsOf(signal), status: 'pending' })];
    case 'delivery.ended':
      return [delivery('ended', { status: signal.status, nextAttemptAt: null, ...idsOf(signal) })];
    case 'endpoint.created':
      return [webhook('created', signal)];
    case 'endpoint.updated':
    case 'endpoint.verified':
    case 'endpoint.verification_failed':
      return [webhook('updated', signal)];
    case 'endpoint.deleted':
      return [webhook('deleted', signal)];
    case 'endpoint.enabled':
      return [webhook('enabled', signal)];
    case 'endpoint.disabled':
      return [webhook('disabled', signal)];
    case 'breaker.opened':
      return [webhook('breaker_opened', signal)];
    case 'breaker.closed':
      return [webhook('breaker_closed', signal)];
    case 'replay.progressed':
      return [replay('progress', signal)];
    case 'replay.ended':
      return [replay('ended', signal)];
  }
}

function createdBy({
  eventId,
  type,
  acceptedAt,
  receivers,
}: SignalNamed<'event.fanned_out'>): readonly Change[] | 'too_many' {
  if (receivers.length > MOST_OF_ONE_EVENT) return 'too_many';
  return receivers.map(({ id: endpointId }) =>
    delivery('created', {
      eventId,
      endpointId,
      type,
      status: 'pending',
      attemptCount: 0,
      lastOutcome: null,
      lastResponseStatus: null,
      createdAt: acceptedAt,
    }),
  );
}

/** `ended`, or the delivery's record, has its result: an attempt alone does not know it. */
function attempted(signal: SignalNamed<'delivery.attempted'>, now: number): ChangedDelivery {
  const { type, attempt, outcome, responseStatus = null, nextDelayMs } = signal;
  const next =
    nextDelayMs === undefined ? {} : ({ status: 'pending', nextAttemptAt: now + nextDelayMs } as const);
  return {
    type,
    attemptCount: attempt,
    lastOutcome: outcome,
    lastResponseStatus: responseStatus,
    ...idsOf(signal),
    ...next,
  };
}

function idsOf({ eventId, endpointId }: Pick<ChangedDelivery, 'eventId' | 'endpointId'>) {
  return { eventId, endpointId };
}

function delivery(change: Extract<Change, { kind: 'delivery' }>['change'], of: ChangedDelivery): Change {
  return { kind: 'delivery', change, delivery: of };
}

function webhook(
  change: Extract<Change, { kind: 'webhook' }>['change'],
  { endpointId }: Pick<Extract<Change, { kind: 'webhook' }>, 'endpointId'>,
): Change {
  return { kind: 'webhook', change, endpointId };
}

function replay(
  change: Extract<Change, { kind: 'replay' }>['change'],
  { replayId, endpointId }: Pick<Extract<Change, { kind: 'replay' }>, 'replayId' | 'endpointId'>,
): Change {
  return { kind: 'replay', change, replayId, endpointId };
}
