import type { OpenAccounts } from '../accounts/open-accounts';
import type { DeliveryParts } from '../domain/delivery';
import type { EndpointId } from '../domain/endpoint';
import type { AcceptedEvent } from '../domain/event';
import { keys } from '../domain/keys';
import type { Emit } from '../domain/signal';
import type { IntakeGivenUp } from '../domain/signals/events';
import type { DeliveryStore } from '../events/redis-delivery-store';
import type { EventStore } from '../events/redis-event-store';
import type {
  EventKey,
  IntakePlace,
  ListedIntake,
  OpenIntake,
  PgIntake,
} from '../history/database/pg-intake';
import { chunksOf } from '../platform/batches';
import type { Clock } from '../platform/clock';
import type { Atomic } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import { settledWithin, WakeUpTimer } from '../platform/timers';
import type { Publishing } from '../publish/publishing';
import type { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import type { EventQueue } from '../queue/bullmq-event-queue';
import type { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import type { ScheduledQueue } from '../queue/bullmq-scheduled-queue';
import type { PayloadErasure } from './erase-payload';

export interface IntakeSweeperParts {
  readonly pgIntake: PgIntake;
  readonly redis: RedisClient;
  readonly openAccounts: Pick<OpenAccounts, 'find'>;
  readonly eventQueue: EventQueue;
  readonly scheduledQueue: ScheduledQueue;
  readonly eventStore: EventStore;
  readonly deliveryStore: DeliveryStore;
  readonly deliveryQueue: DeliveryQueue;
  readonly heldDeliveries: HeldDeliveries;
  readonly atomic: Atomic;
  readonly publishing: Pick<Publishing, 'sendAgain'>;
  readonly payloadErasure: Pick<PayloadErasure, 'erase'>;
  /** How long Redis keeps an event. */
  readonly retention: { readonly ageMs: number };
  readonly clock: Clock;
  readonly emit: Emit;
}

const EVERY_S = 60;
const SETTLED_AFTER_MS = 61_000;
/** Their webhooks may be back in a moment. */
const EVERY_S_WHILE_OWED = 10;
const PAGE = 1_000;
const AT_ONCE = 50;
const RECEIVERS_AT_ONCE = 1_000;
const REMOVE_EVERY_MS = 3_600_000;
/** Whoever restores the webhooks as well has this long. */
const PATIENCE_MS = 86_400_000;
/** Those of an event whose other webhooks are there were deleted, most likely. */
const PATIENCE_WITH_SOME_MS = 600_000;
/** That of PostgreSQL tells when a row was made, that of Redis when it went back. */
const CLOCKS_DIFFER_MS = 60_000;
const STOP_PATIENCE_MS = 4_000;

/**
 * Finds the events that PostgreSQL kept when they were accepted (`INTAKE=durable`) and that Redis has lost, and sends them. Each
 * event is looked for once, a minute after it was accepted; and again when Redis went back behind that time. Then its
 * deliveries are looked for too: one node of a Cluster may have lost a job or a record, and another one still have the event.
 * One worker does it at a time. It may break off anywhere: each step is harmless when repeated.
 */
export class IntakeSweeper {
  readonly #timer = new WakeUpTimer(() => this.#sweep());
  #isStopped = false;
  #removedAt = 0;

  constructor(private readonly parts: IntakeSweeperParts) {}

  start(): void {
    this.#timer.wakeUpIn(0);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await settledWithin(STOP_PATIENCE_MS, this.#timer.stop());
  }

  /**
   * Have all compared again that was kept since a time, for Redis went back to it. That begins a minute later, when all
   * processes have come to the end of what they began before.
   *
   * @param since `undefined`: all.
   */
  async compareAgain({ since }: { readonly since: number | undefined }): Promise<void> {
    await this.parts.pgIntake.checkAgain(since === undefined ? undefined : since - CLOCKS_DIFFER_MS);
    this.#timer.wakeUpIn(SETTLED_AFTER_MS);
  }

  /** Do all that is to do now. Gives how many are still owed; `undefined`: another worker is at it, or died there. */
  async runOnce(): Promise<number | undefined> {
    const { pgIntake } = this.parts;
    const checkedUntil = await pgIntake.lease();
    if (checkedUntil === undefined) return undefined;
    try {
      await this.#compareFrom(checkedUntil);
      const owed = await this.#sendOwed();
      await this.#removeOver();
      return owed;
    } finally {
      await pgIntake.release();
    }
  }

  async #sweep(): Promise<void> {
    let nextS = EVERY_S;
    try {
      if ((await this.runOnce()) !== 0) nextS = EVERY_S_WHILE_OWED;
    } catch (error) {
      this.parts.emit({ name: 'task.failed', task: 'look for lost events', error });
      nextS = EVERY_S_WHILE_OWED;
    }
    if (!this.#isStopped) this.#timer.wakeUpInAbout(nextS);
  }

  async #compareFrom(checkedUntil: string): Promise<void> {
    const { pgIntake } = this.parts;
    let noted: string | undefined = checkedUntil;
    let after: IntakePlace | string = checkedUntil;
    while (!this.#isStopped) {
      const page = await pgIntake.list(after, PAGE);
      const last = page.at(-1);
      if (last === undefined) return;
      const missing = new Set(await this.#missingOf(page));
      if (missing.size > 0) await this.#sendAgain(await pgIntake.findOpen([...missing]));
      const present = page.filter((place) => !missing.has(place));
      await this.#noteReceivers(present.filter(({ isRoutedLater }) => isRoutedLater));
      await this.#sendLostParts(present.filter(({ isAgain }) => isAgain));
      const isAll = page.length < PAGE;
      noted = await pgIntake.noteChecked(last, noted, isAll);
      // It was sent back meanwhile.
      if (noted === undefined) return;
      if (isAll) return;
      after = last;
    }
  }

  /** Those that Redis does not have. */
  async #missingOf(page: readonly ListedIntake[]): Promise<readonly ListedIntake[]> {
    const { redis, eventQueue } = this.parts;
    const areThere = await Promise.all(
      page.map(({ accountId, eventId }) => redis.exists(keys.event(accountId, eventId))),
    );
    const missing = page.filter((_place, i) => areThere[i] === 0);
    const wait = await Promise.all(
      missing.map(async ({ accountId, eventId, isRoutedLater }) =>
        isRoutedLater ? await eventQueue.find(accountId, eventId) : undefined,
      ),
    );
    return missing.filter((_place, i) => wait[i] === undefined);
  }

  /** Note the receivers that a worker has found: from then on each delivery is known as open until it has ended. */
  async #noteReceivers(present: readonly ListedIntake[]): Promise<void> {
    for (const place of present) {
      if (await this.#isComplete(place)) {
        await this.parts.pgIntake.setReceivers(place, await this.#receiversOf(place));
      }
    }
  }

  /** Send events that Redis has, to the receivers whose deliveries it has lost. */
  async #sendLostParts(present: readonly ListedIntake[]): Promise<void> {
    const { pgIntake } = this.parts;
    if (present.length === 0) return;
    for (const some of chunksOf(await pgIntake.findOpen(present), AT_ONCE)) {
      const found = await Promise.all(some.map(async (one) => await this.#lostPartOf(one)));
      const lost = found.flatMap((one) => one ?? []);
      if (lost.length > 0) await this.#sendAgain(await this.#stillOpenOf(lost), true);
    }
  }

  /** What has ended since it was looked for, and has moved to the history, is not lost. */
  async #stillOpenOf(lost: readonly OpenIntake[]): Promise<readonly OpenIntake[]> {
    const open = new Map(
      (await this.parts.pgIntake.findOpen(lost.map(keyOf))).map((one) => [nameOf(keyOf(one)), one]),
    );
    return lost.flatMap((one) => {
      const now = open.get(nameOf(keyOf(one)));
      if (!now) return [];
      const ids = now.endpointIds && new Set(now.endpointIds);
      return { ...one, endpointIds: one.endpointIds?.filter((id) => ids?.has(id) ?? true) };
    });
  }

  /** Give it with the receivers that it is to be sent to again. */
  async #lostPartOf(one: OpenIntake): Promise<OpenIntake | undefined> {
    const { accountId, eventId } = keyOf(one);
    if (!(await this.#isComplete({ accountId, eventId }))) {
      const { eventQueue, scheduledQueue } = this.parts;
      const [head, isScheduled] = await Promise.all([
        eventQueue.find(accountId, eventId),
        scheduledQueue.has(accountId, eventId),
      ]);
      return head || isScheduled ? undefined : one;
    }
    const receivers = one.endpointIds ?? (await this.#receiversOf({ accountId, eventId }));
    const lost: EndpointId[] = [];
    for (const page of chunksOf(receivers, AT_ONCE)) {
      const areLost = await Promise.all(page.map((endpointId) => this.#isLost({ endpointId, eventId })));
      lost.push(...page.filter((_id, i) => areLost[i]));
    }
    return lost.length === 0 ? undefined : { ...one, endpointIds: lost };
  }

  /** Whether all deliveries of an event were made. */
  async #isComplete({ accountId, eventId }: EventKey): Promise<boolean> {
    return (await this.parts.redis.zscore(keys.events(accountId), eventId)) !== null;
  }

  /** Those whose deliveries have not moved to the history. */
  async #receiversOf({ accountId, eventId }: EventKey): Promise<readonly EndpointId[]> {
    const found: EndpointId[] = [];
    let before: EndpointId | undefined;
    do {
      const page = await this.parts.eventStore.listReceivers(accountId, eventId, RECEIVERS_AT_ONCE, before);
      found.push(...page.members);
      before = page.nextCursor;
    } while (before !== undefined);
    return found;
  }

  /** Whether a delivery has not ended and nothing will send it, or its job will find nothing of it. */
  async #isLost(delivery: DeliveryParts): Promise<boolean> {
    const { deliveryQueue, deliveryStore, heldDeliveries, atomic, clock } = this.parts;
    // First: a job that ends has its record by then.
    const looks = [deliveryQueue.guardUnplaced(delivery), deliveryStore.lengthOf(delivery)] as const;
    const isUnplaced = (await atomic(looks)).length === looks.length;
    const state = await deliveryStore.readIfAny(delivery);
    if (state === undefined) return true;
    if (!state.isOpen || isUnplaced) return state.isOpen;
    const isHeld = await heldDeliveries.isHeld(delivery.endpointId, delivery.eventId);
    if (isHeld) return (await deliveryQueue.requestOf(delivery)) === 'no_job';
    // A worker may have held it, and Redis has forgotten all of that but the delay of its job.
    if ((state.nextAttemptAt ?? 0) <= clock()) {
      await deliveryQueue.promote(delivery.endpointId, [delivery.eventId]);
    }
    return false;
  }

  /** Send those that have to wait for their webhooks. Gives how many are left. */
  async #sendOwed(): Promise<number> {
    const { pgIntake } = this.parts;
    let left = 0;
    let after: IntakePlace | undefined;
    do {
      const page: readonly ListedIntake[] = await pgIntake.listOwed(after, PAGE);
      const open = await pgIntake.findOpen(page);
      const isOpen = new Set(open.map((one) => nameOf(keyOf(one))));
      await pgIntake.setOwed(
        page.filter((place) => !isOpen.has(nameOf(place))),
        false,
      );
      left += await this.#sendAgain(open);
      after = page.length === PAGE ? page.at(-1) : undefined;
    } while (after !== undefined && !this.#isStopped);
    return left;
  }

  /** Gives how many could not be sent. @param isThere Redis has the events: what they lack is not their webhooks. */
  async #sendAgain(lost: readonly OpenIntake[], isThere = false): Promise<number> {
    const { pgIntake, payloadErasure, emit } = this.parts;
    let owed = 0;
    let sentCount = 0;
    for (const chunk of chunksOf(lost, AT_ONCE)) {
      // They were read before the chunks before this one were sent.
      const gone = new Set((await pgIntake.erasedAmong(chunk.map(keyOf))).map(nameOf));
      const some = chunk.filter((one) => !gone.has(nameOf(keyOf(one))));
      const results = await Promise.all(some.map((one) => this.#sendOne(one, isThere)));
      const eventsOf = (wanted: SendResult) => some.filter((_one, i) => results[i] === wanted).map(keyOf);
      const sent = eventsOf('sent');
      // An erasure that found nothing in Redis was there in between.
      for (const { accountId, eventId } of await pgIntake.erasedAmong(sent)) {
        await payloadErasure.erase(accountId, eventId);
      }
      await pgIntake.noteSent(sent);
      await pgIntake.setOwed(eventsOf('given_up'), false);
      await pgIntake.setOwed(eventsOf('owed'), true);
      sentCount += sent.length;
      owed += eventsOf('owed').length;
    }
    if (sentCount > 0) emit({ name: 'intake.sent_again', count: sentCount });
    return owed;
  }

  async #sendOne({ event, endpointIds, owedSince }: OpenIntake, isThere: boolean): Promise<SendResult> {
    const { publishing, openAccounts, retention, clock } = this.parts;
    if (event.body === undefined) return 'given_up';
    const { accountId, acceptedAt } = event;
    // Its erasure removes it here as well.
    if (!(await openAccounts.find(accountId))) return 'given_up';
    const now = clock();
    // A history that has lost rows looks the same. Receivers have forgotten ids that are so old.
    if (acceptedAt < now - retention.ageMs / 2) return this.#giveUp(event, 'too_old');
    const owedMs = owedSince === undefined ? 0 : now - owedSince;
    const toSome = isThere || owedMs > PATIENCE_WITH_SOME_MS;
    const receivers = await publishing.sendAgain(event, endpointIds, toSome);
    // Its webhooks were deleted.
    if (isThere) return receivers > 0 ? 'sent' : 'given_up';
    if (endpointIds && receivers > 0 && receivers < endpointIds.length) this.#giveUp(event, 'no_webhook');
    if (receivers > 0) return 'sent';
    return owedMs > PATIENCE_MS ? this.#giveUp(event, 'no_webhook') : 'owed';
  }

  #giveUp({ accountId, id: eventId }: AcceptedEvent, reason: IntakeGivenUp): SendResult {
    this.parts.emit({ name: 'intake.given_up', accountId, eventId, reason });
    return 'given_up';
  }

  async #removeOver(): Promise<void> {
    const { pgIntake, retention, clock } = this.parts;
    const now = clock();
    if (now - this.#removedAt < REMOVE_EVERY_MS) return;
    let after: IntakePlace | undefined;
    do {
      after = await pgIntake.removeOver(after, PAGE, retention.ageMs);
    } while (after !== undefined && !this.#isStopped);
    this.#removedAt = now;
  }
}

function keyOf({ event: { accountId, id: eventId } }: OpenIntake): EventKey {
  return { accountId, eventId };
}

function nameOf({ accountId, eventId }: EventKey): string {
  return `${accountId}/${eventId}`;
}

type SendResult = 'sent' | 'owed' | 'given_up';
