import type { EndpointId } from '../endpoints/endpoint';
import type { AccountId, EventId } from '../events/event';
import type { Emit } from '../signals/signals';
import type { LaneEntry } from './lanes';
import type { JobSide } from './redis-gate-store';

export interface MoveInput {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
  readonly eventId: EventId;
  readonly side: JobSide;
  readonly wasReleased: boolean;
}

/** Puts a delivery onto the slow lane's queue. Doing it again is harmless. */
export interface SlowLaneQueue {
  addSlow(input: MoveInput): Promise<void>;
}

export interface MoveDeps {
  readonly slowLaneQueue: SlowLaneQueue;
  readonly emit: Emit;
}

/** Moves a delivery to the slow lane; its job here may then end. Moving uses no attempt. */
export function createMove({ slowLaneQueue, emit }: MoveDeps) {
  return async function move(
    input: MoveInput,
    { reason }: Extract<LaneEntry, { kind: 'move' }>,
  ): Promise<void> {
    await slowLaneQueue.addSlow(input);
    emit({ name: 'delivery.moved', endpointId: input.endpointId, eventId: input.eventId, reason });
  };
}

export type Move = ReturnType<typeof createMove>;
