import { QUEUE_PREFIX } from '@hookferry/producer/contract';
import { Concurrency } from '../deliver/flow/concurrency';
import { Releaser } from '../deliver/flow/releaser';
import { type AttemptPace, type Slot, Slots } from '../deliver/flow/slots';
import { AttemptStore } from '../deliver/redis-attempt-store';
import { oneShard } from '../domain/queues';
import type { RecordForm } from '../domain/record-form';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import { BesideLanes } from '../endpoints/admission/redis-beside-lanes';
import type { DisablePolicy } from '../endpoints/disable';
import { FormerOrder } from '../endpoints/former-order/redis-former-order';
import { HealthStore } from '../endpoints/health/redis-health-store';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { OpenBreakers } from '../endpoints/redis-stopped-endpoints';
import { DeliveryStore } from '../events/redis-delivery-store';
import { EventStore } from '../events/redis-event-store';
import type { Clock } from '../platform/clock';
import { atomicAsOne } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import { DeliveryHolds } from '../queue/bullmq-delivery-holds';
import { DeliveryQueue } from '../queue/bullmq-delivery-queue';
import { HeldDeliveries } from '../queue/bullmq-held-deliveries';
import { OldestEvents } from '../queue/bullmq-oldest-events';
import { buildVerification } from './build-verification';
import { recordSignals } from './record-signals';
import { testRetention } from './test-retention';
import { testSealer } from './test-sealer';

export interface AdmissionOptions {
  readonly redis: RedisClient;
  readonly clock: Clock;
  readonly signals?: ReturnType<typeof recordSignals>;
  readonly form?: RecordForm | undefined;
}

/** How many attempts at unknown endpoints may be running. */
export const MAX_UNKNOWN = 4;
const SLOTS = 16;
const disablePolicy: DisablePolicy = { afterMs: 5 * 86_400_000, failureSpanMs: 12 * 3_600_000 };
const ATTEMPT_TIMEOUT_MS = 15_000;

/** The parts by which one worker admits attempts, over a real Redis and a real queue of deliveries. -- */
export function buildAdmission({ redis, clock, signals = recordSignals(), form }: AdmissionOptions) {
  const connection = { redis, prefix: QUEUE_PREFIX };
  const forgotten = new ForgottenSlots({
    quick: SLOTS,
    slow: SLOTS,
    onCapacity: () => {},
    clock,
    measureTurn: () => {},
  });
  const slots: Slots = forgotten;
  // No patience: a delivery without a permit is refused at once.
  const concurrency = new Concurrency({
    slots,
    onSlotFree: () => releaser.slotIsFree(),
    sharePerEndpoint: 8,
    maxPerEndpoint: 8,
    maxUnknown: MAX_UNKNOWN,
    patienceMs: 0,
  });
  const atomic = atomicAsOne(redis);
  const besideLanes = new BesideLanes(redis);
  const parts = {
    endpointStore: new EndpointStore(redis, testSealer),
    eventStore: new EventStore(redis, testRetention),
    deliveryStore: new DeliveryStore(redis, testRetention),
    attemptStore: new AttemptStore(testRetention),
    admissionStore: new AdmissionStore(redis),
    besideLanes,
    formerOrder: form === 'former' ? new FormerOrder(redis, atomic) : undefined,
    ...buildVerification(redis, 'required'),
    atomic,
    openBreakers: new OpenBreakers(redis),
    deliveryQueue: new DeliveryQueue(
      connection.redis,
      oneShard(connection.prefix),
      form === 'former' ? besideLanes : undefined,
    ),
    heldDeliveries: new HeldDeliveries(connection.redis, oneShard(connection.prefix)),
    deliveryHolds: new DeliveryHolds(connection.redis, oneShard(connection.prefix)),
    oldestEvents: new OldestEvents(connection.redis, oneShard(connection.prefix)),
    concurrency,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
    clock,
    random: () => 0,
    emit: signals.listen,
  };
  const healthStore = new HealthStore(redis, disablePolicy.afterMs);
  const releaser = new Releaser(parts);
  return {
    ...parts,
    slots,
    healthStore,
    signals,
    releaser,
    disablePolicy,
    async close(): Promise<void> {
      forgotten.leaveAll();
      await releaser.stop();
    },
  };
}

/** A slot that a test takes and never gives back would be checked for ever. -- */
class ForgottenSlots extends Slots {
  readonly #taken = new Set<Slot>();

  override take(pace: AttemptPace): Slot {
    const slot = super.take(pace);
    this.#taken.add(slot);
    return slot;
  }

  override leave(slot: Slot): void {
    super.leave(slot);
    this.#taken.delete(slot);
  }

  leaveAll(): void {
    for (const slot of this.#taken) this.leave(slot);
  }
}
