import { Concurrency } from '@hookferry/core/deliver/flow/concurrency';
import { Releaser } from '@hookferry/core/deliver/flow/releaser';
import { measureTurn, Slots } from '@hookferry/core/deliver/flow/slots';
import type { Emit } from '@hookferry/core/domain/signal';
import type { DisablePolicy } from '@hookferry/core/endpoints/disable';
import type { AdmissionStore } from '@hookferry/core/endpoints/flow/redis-admission-store';
import type { HealthStore } from '@hookferry/core/endpoints/health/redis-health-store';
import type { EndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import type { OpenBreakers } from '@hookferry/core/endpoints/redis-troubled-endpoints';
import type { DeliveryStore } from '@hookferry/core/events/redis-delivery-store';
import { type Clock, steadyClock } from '@hookferry/core/platform/clock';
import type { DeliveryQueue } from '@hookferry/core/queue/bullmq-delivery-queue';
import type { HeldDeliveries } from '@hookferry/core/queue/bullmq-held-deliveries';
import type { OldestEvents } from '@hookferry/core/queue/bullmq-oldest-events';
import type { WorkerConfig } from './config';

// One endpoint may hold a quarter of the slots, and all of them while nobody else wants any.
const ENDPOINT_SHARE = 4;
// Several times what a healthy receiver takes to respond.
const PERMIT_PATIENCE_MS = 100;
// Endpoints that nothing is known of yet may hold half of the slots together.
const UNKNOWN_SHARE = 2;
// So many of the slow ones for each of the others: sixteen busy endpoints may begin to hang at once before they are felt.
const SLOW_FACTOR = 4;

interface AdmissionDeps {
  readonly endpointStore: EndpointStore;
  readonly healthStore: HealthStore;
  readonly admissionStore: AdmissionStore;
  readonly openBreakers: OpenBreakers;
  readonly deliveryStore: DeliveryStore;
  readonly deliveryQueue: DeliveryQueue;
  readonly heldDeliveries: HeldDeliveries;
  readonly oldestEvents: OldestEvents;
  /** Told how many attempts may be under way. */
  readonly onCapacity: (capacity: number) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly emit: Emit;
}

/** What lets attempts begin, holds what may not, and releases it. */
export function composeAdmission(config: WorkerConfig, deps: AdmissionDeps) {
  const quick = config.WORKER_CONCURRENCY;
  const slots = new Slots({
    quick,
    slow: config.SLOW_LANE_CONCURRENCY ?? quick * SLOW_FACTOR,
    onCapacity: deps.onCapacity,
    clock: steadyClock,
    measureTurn,
  });
  const concurrency = new Concurrency({
    slots,
    onSlotFree: () => releaser.slotIsFree(),
    maxPerEndpoint: quick,
    sharePerEndpoint: Math.max(Math.floor(quick / ENDPOINT_SHARE), 1),
    maxUnknown: Math.max(Math.floor(quick / UNKNOWN_SHARE), 1),
    patienceMs: PERMIT_PATIENCE_MS,
  });
  const releaser = new Releaser({ ...deps, concurrency });
  return {
    slots,
    concurrency,
    releaser,
    attemptTimeoutMs: config.DELIVERY_TIMEOUT,
    disablePolicy: disablePolicyOf(config),
  };
}

function disablePolicyOf({ DISABLE_AFTER, DISABLE_FAILURE_SPAN }: WorkerConfig): DisablePolicy | 'never' {
  return DISABLE_AFTER === 'never'
    ? 'never'
    : { afterMs: DISABLE_AFTER, failureSpanMs: DISABLE_FAILURE_SPAN };
}
