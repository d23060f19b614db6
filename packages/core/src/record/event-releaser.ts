import type { UsageRecorder } from '../accounts/usage-recorder';
import type { EndpointId } from '../model/endpoint';
import type { AccountId } from '../model/event';
import type { Emit } from '../model/signal';
import { DELIVERY_BYTES, EVENT_BYTES } from '../model/usage';
import type { Pruned } from './redis-event-index';
import type { EventRelease, LetGo } from './redis-event-release';

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
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

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
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #turnSoon(): void {
    if (this.#isStopped || this.#timer || this.#young.length + this.#old.length === 0) return;
    this.#timer = setTimeout(() => {
      void this.turn().finally(() => {
        this.#timer = undefined;
        this.#turnSoon();
      });
    }, LET_GO_EVERY_MS);
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
