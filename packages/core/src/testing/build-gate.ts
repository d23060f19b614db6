import { createRedisEndpointStore } from '../endpoints/redis-endpoint-store';
import { createAdmit } from '../gates/admit';
import { createHold, type WaitingHere } from '../gates/hold';
import { InFlightWindows } from '../gates/in-flight-windows';
import { createOpenGate } from '../gates/open-gate';
import { createRedisGateStore } from '../gates/redis-gate-store';
import { createSettle } from '../gates/settle';
import type { RedisClient } from '../redis/redis-connect';
import type { Clock } from '../runtime/clock';
import { recordReleases, recordWakes } from './record-queues';
import { recordSignals } from './record-signals';
import { testSealer } from './test-sealer';

export interface GateOptions {
  readonly redis: RedisClient;
  readonly clock: Clock;
  readonly signals?: ReturnType<typeof recordSignals>;
}

/** Everything that endpoints' gates consist of in one worker, over a real Redis and queues that only remember. */
export function buildGate({ redis, clock, signals = recordSignals() }: GateOptions) {
  const wakes = recordWakes();
  const releases = recordReleases();
  const waitingHere: WaitingHere = new Set();
  const parts = {
    endpointStore: createRedisEndpointStore(redis, testSealer),
    gateStore: createRedisGateStore(redis),
    windows: buildWindows(),
    wakeQueue: wakes.queue,
    releaseQueue: releases.queue,
    waitingHere,
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
    hold: createHold(parts),
    settle: createSettle({ ...parts, openGate }),
  };
}

// No patience: what finds no place is told so at once.
function buildWindows(): InFlightWindows {
  return new InFlightWindows({ maxSize: 8, patienceMs: 0 });
}
