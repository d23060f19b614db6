import { createRedisEndpointStore } from '../endpoints/redis-endpoint-store';
import { createAdmit } from '../gates/admit';
import { createHandBack } from '../gates/hand-back';
import { createHold, type WaitingHere } from '../gates/hold';
import { InFlightWindows } from '../gates/in-flight-windows';
import { createLookAtGate } from '../gates/look-at-gate';
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
import { recordReleases, recordWakes } from './record-queues';
import { recordSignals } from './record-signals';

export interface GateOptions {
  readonly redis: RedisClient;
  readonly clock: Clock;
  /** Whether events that were accepted earlier are still to be fanned out; by default there are none. */
  readonly eventHorizon?: EventHorizon;
  readonly signals?: ReturnType<typeof recordSignals>;
}

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
  const waitingHere: WaitingHere = new Set();
  const parts = {
    endpointStore: createRedisEndpointStore(redis),
    breakerStore: createRedisBreakerStore(redis),
    parkedStore: createRedisParkedStore(redis, { retentionMs: RETENTION_MS, clock }),
    permitStore: createRedisPermitStore(redis),
    turnStore: createRedisTurnStore(redis),
    eventHorizon,
    removeGate: createRedisRemoveGate(redis),
    windows: buildWindows(),
    wakeQueue: wakes.queue,
    releaseQueue: releases.queue,
    waitingHere,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
    clock,
    emit: signals.listen,
  };
  const openGate = createOpenGate(parts);
  return {
    ...parts,
    signals,
    wakes,
    releases,
    openGate,
    admit: createAdmit(parts),
    hold: createHold({ ...parts, openGate }),
    handBack: createHandBack(parts),
    passTurn: createPassTurn({ ...parts, openGate }),
    lookAtGate: createLookAtGate({ ...parts, openGate }),
    settle: createSettle({ ...parts, openGate }),
  };
}

// No patience: what finds no place is told so at once.
function buildWindows(): InFlightWindows {
  return new InFlightWindows({ maxSize: 8, patienceMs: 0 });
}
