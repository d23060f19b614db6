import type { Endpoint } from '../endpoints/endpoint';
import type { EventId } from '../events/event';
import type { OpenGate } from './open-gate';
import type { TurnStore } from './redis-turn-store';

export interface PassTurnDeps {
  readonly turnStore: Pick<TurnStore, 'pass'>;
  readonly openGate: OpenGate;
}

/** Once a delivery has come to its end, the next one goes. Without strict ordering: nothing to do. */
export function createPassTurn({ turnStore, openGate }: PassTurnDeps) {
  return async function passTurn(
    { accountId, id, ordering }: Pick<Endpoint, 'accountId' | 'id' | 'ordering'>,
    eventId: EventId,
  ): Promise<void> {
    if (ordering !== 'strict') return;
    await turnStore.pass(id, eventId);
    await openGate(accountId, id, 1);
  };
}

export type PassTurn = ReturnType<typeof createPassTurn>;
