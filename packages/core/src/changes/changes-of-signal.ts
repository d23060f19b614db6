import type { AccountId } from '../model/event';
import type { Signal } from '../model/signal';
import type { Change, ChangedDelivery } from './change';

type Named<Name extends Signal['name']> = Extract<Signal, { readonly name: Name }>;

const toldNames = [
  'event.fanned_out',
  'delivery.attempted',
  'delivery.held',
  'delivery.requested',
  'delivery.ended',
  'endpoint.created',
  'endpoint.updated',
  'endpoint.deleted',
  'endpoint.enabled',
  'endpoint.disabled',
  'breaker.opened',
  'breaker.closed',
  'replay.progressed',
  'replay.ended',
] as const;
const told: ReadonlySet<Signal['name']> = new Set(toldNames);

/** A signal that tells whoever watches its account of a change. */
export type ToldSignal = Named<(typeof toldNames)[number]> & { readonly accountId: AccountId };

export function isTold(signal: Signal): signal is ToldSignal {
  return told.has(signal.name) && 'accountId' in signal && signal.accountId !== undefined;
}

/** What goes to more than so many at once is not told one by one. */
export const MOST_OF_ONE_EVENT = 200;

/**
 * @param now when it was announced. Milliseconds since the Unix epoch.
 */
export function changesOf(signal: ToldSignal, now: number): readonly Change[] | 'too_many' {
  switch (signal.name) {
    case 'event.fanned_out':
      return createdBy(signal);
    case 'delivery.attempted':
      return [delivery('attempted', attempted(signal, now))];
    case 'delivery.held':
      return [delivery('held', { ...idsOf(signal), status: 'held' })];
    case 'delivery.requested':
      return [delivery('requested', { ...idsOf(signal), status: 'pending' })];
    case 'delivery.ended':
      return [delivery('ended', { ...idsOf(signal), status: signal.status, nextAttemptAt: null })];
    case 'endpoint.created':
      return [webhook('created', signal)];
    case 'endpoint.updated':
      return [webhook('updated', signal)];
    case 'endpoint.deleted':
      return [webhook('deleted', signal)];
    case 'endpoint.enabled':
      return [webhook('enabled', signal)];
    case 'endpoint.disabled':
      return [webhook('disabled', signal)];
    case 'breaker.opened':
      return [webhook('breaker_opened', signal)];
    case 'breaker.closed':
      return [webhook('breaker_closed', signal)];
    case 'replay.progressed':
      return [replay('progress', signal)];
    case 'replay.ended':
      return [replay('ended', signal)];
  }
}

function createdBy({
  eventId,
  type,
  acceptedAt,
  receivers,
}: Named<'event.fanned_out'>): readonly Change[] | 'too_many' {
  if (receivers.length > MOST_OF_ONE_EVENT) return 'too_many';
  return receivers.map(({ id: endpointId }) =>
    delivery('created', {
      eventId,
      endpointId,
      type,
      status: 'pending',
      attemptCount: 0,
      lastOutcome: null,
      lastResponseStatus: null,
      createdAt: acceptedAt,
    }),
  );
}

/** What became of the delivery is told by `ended`, or by its record: an attempt alone does not know it. */
function attempted(signal: Named<'delivery.attempted'>, now: number): ChangedDelivery {
  const { type, attempt, outcome, responseStatus = null, nextDelayMs } = signal;
  const next =
    nextDelayMs === undefined ? {} : ({ status: 'pending', nextAttemptAt: now + nextDelayMs } as const);
  return {
    ...idsOf(signal),
    type,
    attemptCount: attempt,
    lastOutcome: outcome,
    lastResponseStatus: responseStatus,
    ...next,
  };
}

function idsOf({ eventId, endpointId }: Pick<ChangedDelivery, 'eventId' | 'endpointId'>) {
  return { eventId, endpointId };
}

function delivery(change: Extract<Change, { kind: 'delivery' }>['change'], of: ChangedDelivery): Change {
  return { kind: 'delivery', change, delivery: of };
}

function webhook(
  change: Extract<Change, { kind: 'webhook' }>['change'],
  { endpointId }: Pick<Extract<Change, { kind: 'webhook' }>, 'endpointId'>,
): Change {
  return { kind: 'webhook', change, endpointId };
}

function replay(
  change: Extract<Change, { kind: 'replay' }>['change'],
  { replayId, endpointId }: Pick<Extract<Change, { kind: 'replay' }>, 'replayId' | 'endpointId'>,
): Change {
  return { kind: 'replay', change, replayId, endpointId };
}
