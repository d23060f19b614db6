import type { UsageRecorder } from '../accounts/account-quota';
import type { AccountId } from '../domain/account';
import type { EndpointId } from '../domain/endpoint';
import type { EventId } from '../domain/event';
import { keys } from '../domain/keys';
import type { Emit } from '../domain/signal';
import { COUNTED_LOG_BYTES, DELIVERY_BYTES, EVENT_BYTES } from '../domain/usage';
import type { RedisClient } from '../platform/redis-connect';
import { groupsByCommand } from '../platform/redis-script';
import { WakeUpTimer } from '../platform/timers';
import type { Pruned } from './redis-event-index';
import { releaseEvents } from './redis-event-release.script';

export interface EventReleaserOptions {
  readonly redis: RedisClient;
  readonly usageRecorder: UsageRecorder;
  readonly emit: Emit;
}

/**
 * An event that is being fanned out may enter one list, and leave it again, before its other receivers are
 * known. That takes a second at most. A body is removed in the second turn after its event was pruned.
 */
const LET_GO_EVERY_MS = 10_000;
/** Released with one command: a fraction of a millisecond in Redis. */
const AT_ONCE = 100;
/** Beyond this number, some hundred bytes each, bodies are left to RETENTION. */
const MOST_WAITING = 200_000;

/** An event that a list has pruned. */
interface Waiting {
  readonly accountId: AccountId;
  readonly eventId: EventId;
  /** The owner of the list; absent: the account's own list. */
  readonly endpointId: EndpointId | undefined;
  readonly createdAt: number;
}

/**
 * Removes an event's body when the last list has pruned the event, so that RETENTION_COUNT bounds the
 * storage. It works in the background on many events at once, so an event costs nothing more. RETENTION
 * removes what a process forgets when it ends.
 */
export class EventReleaser {
  #young: Waiting[] = [];
  #old: Waiting[] = [];
  readonly #timer = new WakeUpTimer(async () => {
    await this.turn();
    this.#turnSoon();
  });

  constructor(private readonly options: EventReleaserOptions) {}

  /** @param endpointId the owner of the list; absent: the account's own list. */
  readonly add = (accountId: AccountId, pruned: readonly Pruned[], endpointId?: EndpointId): void => {
    for (const { eventId, createdAt, logBytes } of pruned) {
      // A delivery that has not ended still needs the body, and returns to the list with its next attempt.
      if (endpointId !== undefined && logBytes === undefined) continue;
      if (endpointId !== undefined) this.#uncount(accountId, createdAt, logBytes ?? 0);
      if (this.#young.length + this.#old.length < MOST_WAITING) {
        this.#young.push({ accountId, eventId, endpointId, createdAt });
      }
    }
    this.#turnSoon();
  };

  /** Release the events that have waited since before the last turn. */
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
    const { redis, usageRecorder } = this.options;
    const groups = groupsByCommand(redis, some);
    const freed = (await Promise.all(groups.map((group) => release(redis, group)))).flat();
    for (const [i, { accountId, createdAt }] of some.entries()) {
      const bytes = freed[i] ?? 0;
      if (bytes > 0) usageRecorder.note(accountId, 'events', -(bytes + EVENT_BYTES), createdAt);
    }
  }

  #uncount(accountId: AccountId, createdAt: number, logBytes: number): void {
    const bytes = DELIVERY_BYTES + Math.max(logBytes - COUNTED_LOG_BYTES, 0);
    this.options.usageRecorder.note(accountId, 'deliveries', -bytes, createdAt);
  }
}

/** For each, in the same order, the size of its body if it is gone now. Idempotent. */
async function release(redis: RedisClient, some: readonly Waiting[]): Promise<readonly number[]> {
  const eventKeys = some.flatMap(({ accountId, eventId }) => [
    keys.event(accountId, eventId),
    keys.receivers(accountId, eventId),
  ]);
  const endpoints = some.map(({ endpointId = '' }) => endpointId);
  return await releaseEvents({ eventKeys, endpoints })(redis);
}
