import type { UsageRecorder } from '../accounts/account-quota';
import type { OpenAccounts } from '../accounts/open-accounts';
import type { AccountId } from '../domain/account';
import type { DeliveryParts } from '../domain/delivery';
import type { DeliveryFact } from '../domain/delivery-fact';
import type { EndpointId } from '../domain/endpoint';
import type { AcceptedEvent } from '../domain/event';
import { keys } from '../domain/keys';
import { LAPSES_AFTER_MS } from '../domain/moved-event';
import { oneShard } from '../domain/queues';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EndedList } from '../events/redis-ended-list';
import { EventStore } from '../events/redis-event-store';
import { MovedStore } from '../events/redis-moved';
import { MovedIds } from '../events/redis-moved-ids';
import { RehydrationStore } from '../events/redis-rehydration';
import type { PgHistory } from '../history/database/pg-history';
import type { HistoryWriter } from '../history/database/pg-history-writer';
import { Mover } from '../history/mover/mover';
import type { MoverParts } from '../history/mover/mover-parts';
import type { RehydrationParts } from '../history/mover/rehydration';
import { atomicAsOne } from '../platform/redis-atomic';
import { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { buildAcceptedAttempt, buildAttempt } from './build-attempt';
import { buildEvent } from './build-event';
import { buildNewDeliveries } from './build-new-deliveries';
import { fake } from './fake';
import { letLapse } from './let-lapse';
import { MemoryHistory } from './memory-history';
import { recordSignals } from './record-signals';
import { openTestRedis, type TestRedis } from './test-redis';
import { uniqueEndpointId } from './unique-ids';

export const MOVE_AFTER_MS = 60_000;
export const KEEP_DAYS = 90;
const RETENTION_MS = 14 * 86_400_000;
/** Longer than any claim. */
export const CLAIM_IS_OVER_MS = 31_000;

export const DELIVERED: DeliveryFact = {
  kind: 'attempted',
  attempt: buildAcceptedAttempt(),
  nextAttemptAt: undefined,
};
export const DELIVERED_THEN: DeliveryFact = {
  kind: 'attempted',
  attempt: buildAcceptedAttempt({ number: 2, startedAt: 1_700_009_000_000 }),
  nextAttemptAt: undefined,
};
export const EXHAUSTED: DeliveryFact = {
  kind: 'attempted',
  attempt: buildAttempt({ responseBody: 'oh no' }),
  nextAttemptAt: undefined,
};
export const FAILED: DeliveryFact = {
  kind: 'attempted',
  attempt: buildAttempt(),
  nextAttemptAt: 1_700_009_000_000,
};

export interface ArrangedEvent {
  readonly event: AcceptedEvent;
  readonly endpointIds: readonly EndpointId[];
}

/** What has ended, in a Redis of a test's own, with a history. */
export class MovingScene {
  readonly history = new MemoryHistory();
  readonly signals = recordSignals();
  readonly usage: { readonly accountId: AccountId; readonly kind: string; readonly bytes: number }[] = [];
  readonly erasing = new Set<AccountId>();
  /** Of accounts with a retention of their own. */
  readonly historyDays = new Map<AccountId, number>();
  /** What the mover and a rehydration need: not the parts of those that sweep, restore or move the audit log. */
  readonly parts: MoverParts & RehydrationParts;
  readonly eventStore: EventStore;
  readonly deliveryStore: DeliveryStore;
  readonly admissionStore: AdmissionStore;
  readonly movedStore: MovedStore;
  readonly movedIds: MovedIds;
  readonly endedList: EndedList;
  now = 1_700_000_000_000;

  private constructor(readonly redis: TestRedis) {
    const { client } = redis;
    const retention = { ageMs: RETENTION_MS, count: 1_000_000 };
    this.eventStore = new EventStore(client, retention);
    this.deliveryStore = new DeliveryStore(client, retention, undefined, undefined, () => this.now);
    this.admissionStore = new AdmissionStore(client);
    this.movedStore = new MovedStore(client, retention);
    this.movedIds = new MovedIds(client, RETENTION_MS);
    this.endedList = new EndedList(client);
    this.parts = fake<MoverParts & RehydrationParts>({
      eventStore: this.eventStore,
      deliveryStore: this.deliveryStore,
      endedList: this.endedList,
      movedStore: this.movedStore,
      rehydrationStore: new RehydrationStore(retention),
      movedIds: this.movedIds,
      deliveryQueue: new DeliveryQueue(client, oneShard('bull')),
      historyWriter: fake<HistoryWriter>(this.history),
      pgHistory: fake<PgHistory>(this.history),
      openAccounts: fake<OpenAccounts>({
        find: async (accountId) =>
          this.erasing.has(accountId) ? undefined : { historyDays: this.historyDays.get(accountId) },
      }),
      usageRecorder: fake<UsageRecorder>({
        note: (accountId, kind, bytes) => void this.usage.push({ accountId, kind, bytes }),
      }),
      atomic: atomicAsOne(client),
      moveAfterMs: MOVE_AFTER_MS,
      keepDays: KEEP_DAYS,
      clock: () => this.now,
      emit: this.signals.listen,
    });
  }

  static async open(): Promise<MovingScene> {
    return new MovingScene(await openTestRedis());
  }

  async close(): Promise<void> {
    await this.redis.close();
  }

  /** An event that is fanned out to so many endpoints, each with these facts. */
  async arrange(
    facts: readonly (readonly DeliveryFact[])[] = [[DELIVERED]],
    change: Partial<AcceptedEvent> = {},
    endpointIds: readonly EndpointId[] = facts.map(() => uniqueEndpointId()),
  ): Promise<ArrangedEvent> {
    const event = buildEvent({ acceptedAt: this.now, ...change });
    const { accountId, id: eventId, acceptedAt } = event;
    await this.eventStore.save(event, endpointIds)(this.redis.client);
    await this.deliveryStore.enlistAll(buildNewDeliveries(eventId, endpointIds, acceptedAt, accountId))(
      this.redis.client,
    );
    await this.eventStore.enlistAll([{ event, deliveries: endpointIds.length }])(this.redis.client);
    for (const [i, endpointId] of endpointIds.entries()) {
      for (const fact of facts[i] ?? []) await this.deliveryStore.append({ eventId, endpointId }, fact);
      if (!(await this.isOpen({ eventId, endpointId }))) {
        await this.endedList.add({ accountId, eventId, endpointId }, this.now);
      }
    }
    if (facts.length === 0) await this.endedList.add({ accountId, eventId }, this.now);
    return { event, endpointIds };
  }

  async isOpen({ endpointId, eventId }: DeliveryParts): Promise<boolean> {
    return (await this.deliveryStore.readWithLength(endpointId, eventId)).state.isOpen;
  }

  /** Move what is due after so long, as a process with these parts does. */
  async moveAfter(ms = MOVE_AFTER_MS, change: Partial<MoverParts> = {}) {
    this.now += ms;
    return await new Mover({ ...this.parts, ...change }).runOnce();
  }

  /** Move until nothing is left to do. */
  async moveAll(): Promise<void> {
    for (let i = 0; i < 20 && (await this.endedList.count()) > 0; i += 1) await this.moveAfter(3_600_000);
  }

  logInRedis({ endpointId, eventId }: DeliveryParts): Promise<string | null> {
    return this.redis.client.get(keys.delivery(endpointId, eventId));
  }

  /** All keys but what lapses, and those that stay: until when records have moved, ids that are known, and counts. */
  async keysLeft(): Promise<readonly string[]> {
    const all = await this.redis.client.keys('*');
    const lapsing = new Set(await this.#lapsing());
    return all
      .filter((key) => !/^(reach|attempt-reach|moved-ids|usage|used-bytes|erasures):/.test(key))
      .filter((key) => !lapsing.has(key))
      .toSorted();
  }

  /** As when a minute has gone by: what has moved is gone. */
  async letLapse(): Promise<void> {
    await letLapse(this.redis.client);
  }

  async #lapsing(): Promise<readonly string[]> {
    const { client } = this.redis;
    const all = await client.keys('*');
    const left = await Promise.all(all.map((key) => client.pttl(key)));
    return all.filter((_key, i) => (left[i] ?? 0) > 0 && (left[i] ?? 0) <= 2 * LAPSES_AFTER_MS);
  }
}
