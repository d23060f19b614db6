import { type DeliveryFact, encodeFact } from '../domain/delivery-fact';
import { readLog } from '../domain/delivery-log';
import { type ReplayMode, replayModes } from '../domain/replay';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildReplayOrder } from '../testing/build-replay';
import { isToBeSent } from './choose-events';

describe('choose events', () => {
  const order = buildReplayOrder({ createdAt: 1_700_000_060_000 });
  const events = ['keyword.*'];

  const retried: DeliveryFact = { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: 1 };
  const retriedSince: DeliveryFact = { ...retried, attempt: buildAttempt({ startedAt: order.createdAt }) };
  const exhausted: DeliveryFact = { ...retried, nextAttemptAt: undefined };
  const aborted: DeliveryFact = { ...exhausted, isAborted: true };
  const delivered: DeliveryFact = { ...exhausted, attempt: buildAcceptedAttempt() };
  const cancelled: DeliveryFact = { kind: 'cancelled', reason: 'event_expired' };
  const requestedBy = (requestId: string): DeliveryFact => ({
    kind: 'requested',
    requestId,
    trigger: 'replay',
    requestedAt: 0,
  });

  interface Given {
    /** Left out: there is no delivery. */
    readonly log?: readonly DeliveryFact[];
    readonly type?: string;
    readonly isAimed?: boolean;
  }

  /** The modes in which an event is sent. */
  function modesOf({ log, type = 'keyword.quick_win', isAimed = false }: Given): ReplayMode[] {
    const state = readLog((log ?? []).map(encodeFact).join(''));
    const candidate = { head: { type, acceptedAt: 0, isAimed }, state, hasDelivery: log !== undefined };
    return replayModes.filter((mode) => isToBeSent({ ...order, mode }, events, candidate));
  }

  it.each<[string, Given, ReplayMode[]]>([
    ['an event without a delivery', {}, ['missing', 'all']],
    ['one of a type that the endpoint did not ask for', { type: 'brief.created' }, []],
    ['one that was aimed at others', { isAimed: true }, []],
    ['one that was aimed at this endpoint', { isAimed: true, log: [delivered] }, ['all']],
    ['one whose delivery was not tried yet', { log: [] }, []],
    ['one whose delivery is retried', { log: [retried] }, ['pending']],
    [
      "one whose next attempt comes now, at somebody else's request",
      { log: [retried, requestedBy('rdl_1')] },
      [],
    ],
    ['one whose next attempt this replay has brought forward, with its batch', { log: [retriedSince] }, []],
    ['an exhausted one', { log: [exhausted] }, ['failed', 'all']],
    ['an aborted one', { log: [aborted] }, ['failed', 'all']],
    ['a cancelled one', { log: [cancelled] }, ['failed', 'all']],
    ['a delivered one', { log: [delivered] }, ['all']],
    ['one that was asked for by somebody else', { log: [exhausted, requestedBy('rdl_1')] }, []],
    [
      'one that failed of a type that the endpoint asks for no more',
      { type: 'brief.created', log: [exhausted] },
      ['failed'],
    ],
    [
      'one that this replay has requested in a step that broke off',
      { log: [requestedBy(order.id), delivered] },
      ['failed', 'pending', 'missing', 'all'],
    ],
  ])('%s is sent as it should', (_what, given, modes) => {
    expect(modesOf(given)).toEqual(modes);
  });
});
