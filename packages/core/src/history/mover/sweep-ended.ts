import { setTimeout as wait } from 'node:timers/promises';
import type { AccountId } from '../../domain/account';
import type { NewDelivery } from '../../domain/delivery';
import { readSummary } from '../../domain/delivery-log';
import type { EventId } from '../../domain/event';
import type { EndedEntry } from '../../events/redis-ended-list';
import type { Mark } from '../../platform/redis-timeline';
import { settledWithin, WakeUpTimer } from '../../platform/timers';
import type { MoverParts } from './mover-parts';

const ACCOUNTS_AT_ONCE = 100;
const EVENTS_AT_ONCE = 100;
const RECEIVERS_AT_ONCE = 250;
const DELIVERIES_PER_SECOND = 2_000;
const EVERY_MS = 3_600_000;
const LEASED_FOR_MS = 60_000;
const STOP_PATIENCE_MS = 1_000;

/**
 * Finds finished deliveries that the list `over` lacks: from before there was a history, or left out by a process that died
 * in a Cluster. It runs at the start and then every hour, slowly, in one worker at a time. A worker that takes over begins
 * again, because the found deliveries have moved by then.
 */
export class EndedSweep {
  readonly #stop = new AbortController();
  readonly #timer = new WakeUpTimer(() => this.#sweep());

  constructor(private readonly parts: MoverParts) {}

  start(): void {
    this.#timer.wakeUpIn(0);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await settledWithin(STOP_PATIENCE_MS, this.#timer.stop());
  }

  async #sweep(): Promise<void> {
    try {
      await this.runOnce();
    } catch (error) {
      if (!this.#stop.signal.aborted)
        this.parts.emit({ name: 'task.failed', task: 'find finished deliveries', error });
    }
    this.#timer.wakeUpIn(EVERY_MS);
  }

  /** Go through all events of all accounts, unless another worker does. Gives how many entries it added. */
  async runOnce(): Promise<number> {
    const { accountStore } = this.parts;
    let found = 0;
    let before: string | undefined;
    do {
      if (!(await this.#isLeader())) return found;
      const { accounts, nextCursor } = await accountStore.list(ACCOUNTS_AT_ONCE, before);
      for (const { id, erasingSince } of accounts) {
        if (erasingSince === undefined) found += await this.#sweepAccount(id);
      }
      before = nextCursor;
    } while (before !== undefined);
    return found;
  }

  async #isLeader(): Promise<boolean> {
    const { endedList, workerId } = this.parts;
    return await endedList.leaseSweep(workerId, LEASED_FOR_MS);
  }

  async #sweepAccount(accountId: AccountId): Promise<number> {
    const { eventStore } = this.parts;
    let found = 0;
    let after: Mark | undefined;
    do {
      if (!(await this.#isLeader())) return found;
      const marks = await eventStore.listFrom(accountId, {}, EVENTS_AT_ONCE, after);
      for (const { id } of marks) found += await this.#sweepEvent(accountId, id as EventId);
      after = marks.length < EVENTS_AT_ONCE ? undefined : marks.at(-1);
    } while (after !== undefined);
    return found;
  }

  async #sweepEvent(accountId: AccountId, eventId: EventId): Promise<number> {
    const { eventStore, endedList, clock } = this.parts;
    let found = 0;
    let before: string | undefined;
    do {
      const page = await eventStore.listReceivers(accountId, eventId, RECEIVERS_AT_ONCE, before);
      const deliveries = page.members.map((endpointId) => ({ accountId, eventId, endpointId }));
      // An event without deliveries, or whose deliveries have all moved.
      const isEmpty = deliveries.length === 0 && before === undefined;
      const ended = isEmpty ? [{ accountId, eventId }] : await this.#endedAmong(deliveries);
      await endedList.addMissing(ended, clock());
      found += ended.length;
      await this.#pace(deliveries.length + 1);
      before = page.nextCursor;
    } while (before !== undefined);
    return found;
  }

  async #endedAmong(deliveries: readonly NewDelivery[]): Promise<readonly EndedEntry[]> {
    const { movedStore, atomic } = this.parts;
    const [seen] = await atomic([movedStore.seeDeliveries(deliveries)]);
    return deliveries.filter((_delivery, i) => {
      const one = seen[i];
      if (one instanceof Error) throw one;
      return one?.log !== undefined && !readSummary(one.log).isOpen;
    });
  }

  #owed = 0;

  async #pace(deliveries: number): Promise<void> {
    this.#owed += deliveries;
    if (this.#owed < EVENTS_AT_ONCE) return;
    const durationMs = (this.#owed / DELIVERIES_PER_SECOND) * 1_000;
    this.#owed = 0;
    await wait(durationMs, undefined, { signal: this.#stop.signal, ref: false });
  }
}
