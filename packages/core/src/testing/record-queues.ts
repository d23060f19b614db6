import type { EndpointId } from '../endpoints/endpoint';
import type { AccountId } from '../events/event';
import type { WakeQueue } from '../gates/hold';
import type { MoveInput, SlowLaneQueue } from '../gates/move';
import type { ReleaseQueue } from '../gates/open-gate';
import type { Parked } from '../gates/parked';

export interface Wake {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
  readonly at: number;
}

/** A wake queue that remembers what it was asked for. */
export function recordWakes() {
  const asked: Wake[] = [];
  const queue: WakeQueue = {
    async wake(accountId, endpointId, at) {
      asked.push({ accountId, endpointId, at });
    },
  };
  return { queue, asked };
}

export interface Release {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
  readonly parked: Parked;
}

/** A release queue that remembers what it was given, in that order. */
export function recordReleases() {
  const released: Release[] = [];
  const queue: ReleaseQueue = {
    async release(accountId, endpointId, all) {
      for (const parked of all) released.push({ accountId, endpointId, parked });
    },
    async releaseLost(accountId, endpointId, parked) {
      released.push({ accountId, endpointId, parked });
    },
  };
  return { queue, released };
}

/** A slow lane's queue that remembers what it was given, in that order. */
export function recordMoves() {
  const moved: MoveInput[] = [];
  const queue: SlowLaneQueue = {
    async addSlow(input) {
      moved.push(input);
    },
  };
  return { queue, moved };
}
