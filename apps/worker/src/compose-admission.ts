import { createAdmit } from '@webhooks/core/admission/admit';
import { Concurrency } from '@webhooks/core/admission/concurrency';
import type { HeldDeliveries } from '@webhooks/core/admission/held-deliveries';
import { createHold } from '@webhooks/core/admission/hold';
import { createLookAtEndpoint, type EventHorizon } from '@webhooks/core/admission/look-at-endpoint';
import type { AdmissionStore } from '@webhooks/core/admission/redis-admission-store';
import { Releaser } from '@webhooks/core/admission/releaser';
import { createSettle } from '@webhooks/core/admission/settle';
import { Slots } from '@webhooks/core/admission/slots';
import { createLeaveOrder } from '@webhooks/core/attempt/leave-order';
import { createDisable } from '@webhooks/core/endpoints/disable';
import { createDisableFailing } from '@webhooks/core/endpoints/disable-failing';
import type { DisablePolicy } from '@webhooks/core/endpoints/disable-policy';
import type { EndpointStore } from '@webhooks/core/endpoints/redis-endpoint-store';
import type { HealthStore } from '@webhooks/core/endpoints/redis-health-store';
import type { DeliveryQueue } from '@webhooks/core/intake/fan-out-event';
import { type Clock, steadyClock } from '@webhooks/core/kernel/clock';
import type { Emit } from '@webhooks/core/model/signal';
import type { DeliveryStore } from '@webhooks/core/record/redis-delivery-store';
import { createRestoreDelivery } from '@webhooks/core/recovery/restore-delivery';
import type { WorkerConfig } from './config';

// One endpoint may hold a quarter of the slots.
const ENDPOINT_SHARE = 4;
// Several times what a healthy receiver takes to answer.
const PLACE_PATIENCE_MS = 100;
// Endpoints that nothing is known of yet may hold half of the slots together.
const STRANGERS_SHARE = 2;
// So many of the slow ones for each of the others: sixteen busy endpoints may begin to hang at once before they are felt.
const SLOW_FACTOR = 4;

interface AdmissionDeps {
  readonly endpointStore: EndpointStore;
  readonly healthStore: HealthStore;
  readonly admissionStore: AdmissionStore;
  readonly deliveryStore: DeliveryStore;
  readonly deliveryQueue: DeliveryQueue;
  readonly heldDeliveries: HeldDeliveries;
  readonly eventHorizon: EventHorizon;
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
  });
  const concurrency = new Concurrency({
    slots,
    onSlotFree: () => releaser.slotIsFree(),
    maxPerEndpoint: Math.max(Math.floor(quick / ENDPOINT_SHARE), 1),
    maxStrangers: Math.max(Math.floor(quick / STRANGERS_SHARE), 1),
    patienceMs: PLACE_PATIENCE_MS,
  });
  const lookAtEndpoint = createLookAtEndpoint({ ...deps, restoreDelivery: createRestoreDelivery(deps) });
  const releaser = new Releaser({ ...deps, lookAtEndpoint, concurrency });
  const disable = createDisable(deps);
  const disableFailing = createDisableFailing({ ...deps, disable, policy: disablePolicyOf(config) });
  return {
    concurrency,
    releaser,
    admit: createAdmit({ ...deps, concurrency, attemptTimeoutMs: config.DELIVERY_TIMEOUT }),
    hold: createHold({ ...deps, releaser }),
    settle: createSettle({ ...deps, concurrency, releaser, disable, disableFailing }),
    leaveOrder: createLeaveOrder({ ...deps, releaser }),
  };
}

function disablePolicyOf({ DISABLE_AFTER, DISABLE_FAILURE_SPAN }: WorkerConfig): DisablePolicy | 'never' {
  return DISABLE_AFTER === 'never'
    ? 'never'
    : { afterMs: DISABLE_AFTER, failureSpanMs: DISABLE_FAILURE_SPAN };
}
