import { createRedisEndpointStore } from '../endpoints/redis-endpoint-store';
import { createAdmit } from '../gates/admit';
import { createHold, type WaitingHere } from '../gates/hold';
import { InFlightWindows } from '../gates/in-flight-windows';
import { Lanes } from '../gates/lanes';
import { createMove } from '../gates/move';
import { createOpenGate } from '../gates/open-gate';
import { createRedisGateStore } from '../gates/redis-gate-store';
import { createSettle } from '../gates/settle';
import type { RedisClient } from '../redis/redis-connect';
import type { Clock } from '../runtime/clock';
import { recordMoves, recordReleases, recordWakes } from './record-queues';
import { recordSignals } from './record-signals';

export interface GateOptions {
  readonly redis: RedisClient;
  readonly clock: Clock;
  readonly signals?: ReturnType<typeof recordSignals>;
}

/** How many deliveries to endpoints that nothing is known of are let into the fast lane. */
export const MAX_STRANGERS = 4;

/** Everything that endpoints' gates consist of in one worker, over a real Redis and queues that only remember. */
export function buildGate({ redis, clock, signals = recordSignals() }: GateOptions) {
  const wakes = recordWakes();
  const releases = recordReleases();
  const moves = recordMoves();
  const waitingHere: WaitingHere = new Set();
  const parts = {
    endpointStore: createRedisEndpointStore(redis),
    gateStore: createRedisGateStore(redis),
    windows: buildWindows(),
    lanes: new Lanes(MAX_STRANGERS),
    wakeQueue: wakes.queue,
    releaseQueue: releases.queue,
    slowLaneQueue: moves.queue,
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
    moves,
    openGate,
    admit: createAdmit(parts),
    hold: createHold(parts),
    move: createMove(parts),
    settle: createSettle({ ...parts, openGate }),
  };
}

// No patience: what finds no place is told so at once.
function buildWindows(): InFlightWindows {
  return new InFlightWindows({ maxSize: 8, patienceMs: 0 });
}
