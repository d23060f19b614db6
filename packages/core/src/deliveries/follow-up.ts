import type { Ticket } from '../gates/admit';
import type { HandBack } from '../gates/hand-back';
import type { PassTurn } from '../gates/pass-turn';
import type { Settle, Settled } from '../gates/settle';
import { tellsOfFailing } from '../operational-events/events-of-attempt';
import { isUnreadableSecret } from '../secrets/seal';
import type { Emit } from '../signals/signals';
import type { Decision } from './decide-next';
import type { ReadyDelivery } from './load-delivery';
import { persistFor } from './persist-for';
import type { SentAttempt } from './send-attempt';

export interface FollowUpDeps {
  readonly handBack: HandBack;
  readonly settle: Settle;
  readonly passTurn: PassTurn;
  readonly emit: Emit;
}

export interface FollowUpInput {
  readonly ready: ReadyDelivery;
  readonly ticket: Ticket;
  readonly sent: SentAttempt;
  readonly decision: Decision;
}

/**
 * Does what follows from an attempt at its endpoint's gate. The attempt is on record and is not made again, so nothing
 * else would do it. Secrets that can't be read are another matter: it can take days until they can be, and no worker's
 * slot is to wait for that.
 */
export function createFollowUp({ handBack, settle, passTurn, emit }: FollowUpDeps) {
  return async function followUp(input: FollowUpInput, signal: AbortSignal): Promise<Settled> {
    const { ready, ticket, decision } = input;
    const { run, endpoint, breaker } = ready;
    const options = { signal, emit, isFinal: isUnreadableSecret };

    await persistFor(run, () => handBack({ endpoint, breaker, ticket, wasInterrupted: false }), options);
    const settled = await persistFor(run, () => settleAttempt(input), options);
    if (decision.kind !== 'retry') await persistFor(run, () => passTurn(endpoint, run.eventId), options);
    return settled;
  };

  async function settleAttempt({ ready, sent: { attempt, wish } }: FollowUpInput): Promise<Settled> {
    const { run, event, endpoint, breaker } = ready;
    return await settle({
      endpoint,
      breaker,
      delivered: attempt.outcome === 'delivered',
      disabledBy: wish.disabledBy,
      tellsOfFailing: tellsOfFailing(event.type, attempt),
      wasReleased: run.wasReleased,
    });
  }
}
