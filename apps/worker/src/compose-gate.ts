import { createDisable } from '@webhooks/core/endpoints/disable';
import { createDisableFailing } from '@webhooks/core/endpoints/disable-failing';
import type { DisablePolicy } from '@webhooks/core/endpoints/disable-policy';
import type { EndpointId } from '@webhooks/core/endpoints/endpoint';
import type { EndpointStore } from '@webhooks/core/endpoints/redis-endpoint-store';
import type { HealthStore } from '@webhooks/core/endpoints/redis-health-store';
import { createAdmit } from '@webhooks/core/gates/admit';
import { createHandBack } from '@webhooks/core/gates/hand-back';
import { createHold, type WakeQueue } from '@webhooks/core/gates/hold';
import { InFlightWindows } from '@webhooks/core/gates/in-flight-windows';
import { createIsStuck } from '@webhooks/core/gates/is-stuck';
import { Lanes } from '@webhooks/core/gates/lanes';
import { createLookAtGate } from '@webhooks/core/gates/look-at-gate';
import { createMove } from '@webhooks/core/gates/move';
import { createOpenGate, type EventHorizon } from '@webhooks/core/gates/open-gate';
import { createPassTurn } from '@webhooks/core/gates/pass-turn';
import type { BreakerStore } from '@webhooks/core/gates/redis-breaker-store';
import type { ParkedStore } from '@webhooks/core/gates/redis-parked-store';
import { createRedisPermitStore } from '@webhooks/core/gates/redis-permit-store';
import { createRedisRemoveGate } from '@webhooks/core/gates/redis-remove-gate';
import { createRedisTurnStore } from '@webhooks/core/gates/redis-turn-store';
import { createSettle } from '@webhooks/core/gates/settle';
import type { BullmqDeliveryQueue } from '@webhooks/core/queue/bullmq-delivery-queue';
import type { RedisClient } from '@webhooks/core/redis/redis-connect';
import type { Clock } from '@webhooks/core/runtime/clock';
import type { Emit } from '@webhooks/core/signals/signals';
import type { WorkerConfig } from './config';

// One endpoint may hold a quarter of the slots, and keep a slot waiting for a place no longer than several times what a
// healthy receiver takes to answer.
const ENDPOINT_SHARE = 4;
const PLACE_PATIENCE_MS = 100;
// Endpoints that nothing is known of yet may hold half of the fast lane's slots together.
const STRANGERS_SHARE = 2;

interface GateDeps {
  readonly storeRedis: RedisClient;
  readonly endpointStore: EndpointStore;
  readonly healthStore: HealthStore;
  readonly breakerStore: BreakerStore;
  readonly parkedStore: ParkedStore;
  readonly eventHorizon: EventHorizon;
  readonly deliveryQueue: BullmqDeliveryQueue;
  readonly wakeQueue: WakeQueue;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** What lets attempts at an endpoint start or wait, and looks after those that wait. */
export function composeGate(config: WorkerConfig, deps: GateDeps) {
  const { storeRedis, deliveryQueue } = deps;
  const windows = new InFlightWindows({
    maxSize: Math.max(Math.floor(config.WORKER_CONCURRENCY / ENDPOINT_SHARE), 1),
    patienceMs: PLACE_PATIENCE_MS,
  });
  const lanes = new Lanes(Math.max(Math.floor(config.WORKER_CONCURRENCY / STRANGERS_SHARE), 1));
  const gateParts = {
    ...deps,
    permitStore: createRedisPermitStore(storeRedis),
    turnStore: createRedisTurnStore(storeRedis),
    removeGate: createRedisRemoveGate(storeRedis),
    windows,
    lanes,
    releaseQueue: deliveryQueue,
    slowLaneQueue: deliveryQueue,
    waitingHere: new Set<EndpointId>(),
    attemptTimeoutMs: config.DELIVERY_TIMEOUT,
  };
  const gate = { ...gateParts, openGate: createOpenGate(gateParts) };
  const disable = createDisable(gate);
  const disableFailing = createDisableFailing({ ...deps, disable, policy: disablePolicyOf(config) });
  return {
    windows,
    lanes,
    admit: createAdmit(gate),
    hold: createHold(gate),
    move: createMove(gate),
    handBack: createHandBack(gate),
    settle: createSettle({ ...gate, disable, disableFailing }),
    passTurn: createPassTurn(gate),
    lookAtGate: createLookAtGate(gate),
    isStuck: createIsStuck(gate),
  };
}

function disablePolicyOf({ DISABLE_AFTER, DISABLE_FAILURE_SPAN }: WorkerConfig): DisablePolicy | 'never' {
  return DISABLE_AFTER === 'never'
    ? 'never'
    : { afterMs: DISABLE_AFTER, failureSpanMs: DISABLE_FAILURE_SPAN };
}
