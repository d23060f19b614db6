import { Cluster } from 'ioredis';
import type { UsageRecorder } from '../accounts/account-quota';
import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import type { Emit } from '../domain/signal';
import { DELIVERY_BYTES, EVENT_BYTES } from '../domain/usage';
import { type RedisClient, throwStorageErrors } from '../platform/redis-connect';
import { defineScript } from '../platform/redis-script';
import { WakeUpTimer } from '../platform/timers';
import type { Pruned } from './redis-event-index';

export interface EventReleaserOptions {
  readonly eventRelease: EventRelease;
  readonly usageRecorder: Pick<UsageRecorder, 'note'>;
  readonly retentionMs: number;
  readonly emit: Emit;
}

/**
 * An event that is just being fanned out may be in one list, and out of it again, before it is known who else it goes to:
 * that takes a second at most, and so long twice is waited before a body goes.
 */
const LET_GO_EVERY_MS = 10_000;
/** So many with one command: a fraction of a millisecond in Redis. */
const AT_ONCE = 100;
/** Beyond this, some hundred bytes each, bodies are left to RETENTION. */
const MOST_WAITING = 200_000;
/** Of a log's bytes these are counted with its delivery. */
const COUNTED_LOG_BYTES = 200;

interface Waiting extends LetGo {
  readonly createdAt: number;
}

/**
 * Lets go of an event's body when the last list has let go of the event, so that RETENTION_COUNT bounds what is kept. In
 * the background, many at once: it adds nothing to what an event costs. What a process forgets when it ends, goes with
 * RETENTION.
 */
export class EventReleaser {
  #young: Waiting[] = [];
  #old: Waiting[] = [];
  readonly #timer = new WakeUpTimer(async () => {
    await this.turn();
    this.#turnSoon();
  });

  constructor(private readonly options: EventReleaserOptions) {}

  /** @param endpointId whose list it was; left out: the account's own. */
  add(accountId: AccountId, pruned: readonly Pruned[], endpointId?: EndpointId): void {
    for (const { eventId, createdAt, logBytes } of pruned) {
      // A delivery that is not at its end needs the body still, and comes back into the list with its next attempt.
      if (endpointId !== undefined && logBytes === undefined) continue;
      if (endpointId !== undefined) this.#uncount(accountId, createdAt, logBytes ?? 0);
      if (this.#young.length + this.#old.length < MOST_WAITING) {
        this.#young.push({ accountId, eventId, endpointId, createdAt });
      }
    }
    this.#turnSoon();
  }

  /** Releases what has waited since before the last time. */
  async turn(): Promise<void> {
    const due = this.#old;
    this.#old = this.#young;
    this.#young = [];
    try {
      while (due.length > 0) await this.#release(due.splice(0, AT_ONCE));
    } catch (error) {
      this.#young.push(...due);
      this.options.emit({ name: 'task.failed', task: 'release events', error });
    }
  }

  async stop(): Promise<void> {
    void this.#timer.stop();
  }

  #turnSoon(): void {
    if (this.#young.length + this.#old.length > 0) this.#timer.wakeUpIn(LET_GO_EVERY_MS);
  }

  async #release(some: readonly Waiting[]): Promise<void> {
    const freed = await this.options.eventRelease.release(some);
    const { usageRecorder, retentionMs } = this.options;
    for (const [i, { accountId, createdAt }] of some.entries()) {
      const bytes = freed[i] ?? 0;
      if (bytes > 0) usageRecorder.note(accountId, 'events', -(bytes + EVENT_BYTES), createdAt, retentionMs);
    }
  }

  #uncount(accountId: AccountId, createdAt: number, logBytes: number): void {
    const bytes = DELIVERY_BYTES + Math.max(logBytes - COUNTED_LOG_BYTES, 0);
    this.options.usageRecorder.note(accountId, 'deliveries', -bytes, createdAt, this.options.retentionMs);
  }
}

/** An event that a list has let go of. */
export interface LetGo {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  /** Whose list it was; none: the account's own. */
  readonly endpointId: EndpointId | undefined;
}

// KEYS: event and receivers of each. ARGV: the endpoint of each, or ''. Gives what each event has taken up, 0 for those that
// stay: they went to somebody whose list has them still, or whose delivery is not at its end.
const RELEASE = defineScript(`
  local freed = {}
  for i = 1, #ARGV do
    local event, receivers = KEYS[2 * i - 1], KEYS[2 * i]
    if ARGV[i] ~= '' then redis.call('ZREM', receivers, ARGV[i]) end
    freed[i] = 0
    if redis.call('EXISTS', receivers) == 0 then
      freed[i] = redis.call('STRLEN', event)
      redis.call('UNLINK', event)
    end
  end
  return freed`);

/** Lets go of events' bodies once no list has them. */
export class EventRelease {
  // In a Cluster each event has a slot of its own.
  readonly #areTogether: boolean;

  constructor(private readonly redis: RedisClient) {
    this.#areTogether = !(redis instanceof Cluster);
  }

  /** For each, in the same order, how many bytes its body has taken up, if it is gone now. Harmless when repeated. */
  async release(some: readonly LetGo[]): Promise<readonly number[]> {
    if (this.#areTogether) return await this.#releaseTogether(some);
    return (await Promise.all(some.map((one) => this.#releaseTogether([one])))).flat();
  }

  async #releaseTogether(some: readonly LetGo[]): Promise<number[]> {
    const eventKeys = some.flatMap(({ accountId, eventId }) => [
      keys.event(accountId, eventId),
      keys.receivers(accountId, eventId),
    ]);
    const endpointIds = some.map(({ endpointId = '' }) => endpointId);
    return (await RELEASE(this.redis, eventKeys, endpointIds)) as number[];
  }
}

throwStorageErrors(EventRelease);
