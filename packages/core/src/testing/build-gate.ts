import { createDisable } from '../endpoints/disable';
import { createDisableFailing } from '../endpoints/disable-failing';
import type { DisablePolicy } from '../endpoints/disable-policy';
import { createRedisEndpointStore } from '../endpoints/redis-endpoint-store';
import { createRedisHealthStore } from '../endpoints/redis-health-store';
import { createAdmit } from '../gates/admit';
import { createHandBack } from '../gates/hand-back';
import { createHold, type WaitingHere } from '../gates/hold';
import { InFlightWindows } from '../gates/in-flight-windows';
import { createIsStuck } from '../gates/is-stuck';
import { Lanes } from '../gates/lanes';
import { createLookAtGate } from '../gates/look-at-gate';
import { createMove } from '../gates/move';
import { createOpenGate, type EventHorizon } from '../gates/open-gate';
import { createPassTurn } from '../gates/pass-turn';
import { createRedisBreakerStore } from '../gates/redis-breaker-store';
import { createRedisParkedStore } from '../gates/redis-parked-store';
import { createRedisPermitStore } from '../gates/redis-permit-store';
import { createRedisRemoveGate } from '../gates/redis-remove-gate';
import { createRedisTurnStore } from '../gates/redis-turn-store';
import { createSettle } from '../gates/settle';
import type { RedisClient } from '../redis/redis-connect';
import type { Clock } from '../runtime/clock';
import { recordMoves, recordReleases, recordWakes } from './record-queues';
import { recordSignals } from './record-signals';
import { testSealer } from './test-sealer';

export interface GateOptions {
  readonly redis: RedisClient;
  readonly clock: Clock;
  /** Whether events that were accepted earlier are still to be fanned out; by default there are none. */
  readonly eventHorizon?: EventHorizon;
  readonly signals?: ReturnType<typeof recordSignals>;
}

/** How many deliveries to endpoints that nothing is known of are let into the fast lane. */
export const MAX_STRANGERS = 4;
const disablePolicy: DisablePolicy = { afterMs: 5 * 86_400_000, failureSpanMs: 12 * 3_600_000 };
const RETENTION_MS = 14 * 86_400_000;
const ATTEMPT_TIMEOUT_MS = 15_000;

/** Everything that endpoints' gates consist of in one worker, over a real Redis and queues that only remember. */
export function buildGate({
  redis,
  clock,
  signals = recordSignals(),
  eventHorizon = { hasOlder: async () => false },
}: GateOptions) {
  const wakes = recordWakes();
  const releases = recordReleases();
  const moves = recordMoves();
  const waitingHere: WaitingHere = new Set();
  const parts = {
    endpointStore: createRedisEndpointStore(redis, testSealer),
    breakerStore: createRedisBreakerStore(redis),
    parkedStore: createRedisParkedStore(redis, { retentionMs: RETENTION_MS, clock }),
    permitStore: createRedisPermitStore(redis),
    turnStore: createRedisTurnStore(redis),
    eventHorizon,
    removeGate: createRedisRemoveGate(redis),
    windows: buildWindows(),
    lanes: new Lanes(MAX_STRANGERS),
    wakeQueue: wakes.queue,
    releaseQueue: releases.queue,
    slowLaneQueue: moves.queue,
    waitingHere,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
    clock,
    emit: signals.listen,
  };
  const healthStore = createRedisHealthStore(redis, disablePolicy.afterMs);
  const disable = createDisable(parts);
  const disableFailing = createDisableFailing({ ...parts, healthStore, disable, policy: disablePolicy });
  const openGate = createOpenGate(parts);
  return {
    ...parts,
    healthStore,
    signals,
    wakes,
    releases,
    moves,
    openGate,
    admit: createAdmit(parts),
    hold: createHold({ ...parts, openGate }),
    move: createMove(parts),
    handBack: createHandBack(parts),
    passTurn: createPassTurn({ ...parts, openGate }),
    lookAtGate: createLookAtGate({ ...parts, openGate }),
    isStuck: createIsStuck(parts),
    settle: createSettle({ ...parts, disable, disableFailing, openGate }),
  };
}

// No patience: what finds no place is told so at once.
function buildWindows(): InFlightWindows {
  return new InFlightWindows({ maxSize: 8, patienceMs: 0 });
}
