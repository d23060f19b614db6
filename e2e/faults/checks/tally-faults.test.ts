import type { EndpointSpec } from '../endpoints';
import type { AcknowledgedEvent, InjectedFault, Ledger, ReceivedRequest } from '../ledger';
import { buildRequest } from './build-request';
import { checkInFlight } from './check-in-flight';
import { tallyFaults } from './tally-faults';

const SPECS: readonly EndpointSpec[] = [
  { name: 'one', events: ['keyword.*'], respondsAfterMs: 0, isPrompt: true },
];
const NOTHING = { lost: [], duplicates: [], twoJobs: [] };

describe('what is put down to a fault', () => {
  const faults = [fault('first', 1_000, 2_000), fault('second', 6_000, 7_000)];

  it('is each event that was acknowledged nearer to it than to any other', () => {
    const acknowledged = acknowledge({ early: 0, during: 1_500, before: 3_999, after: 4_001, late: 99_000 });
    const tallies = tallyFaults(ledger({ faults, acknowledged }), SPECS, NOTHING);
    expect(tallies.map((tally) => [tally.kind, tally.acknowledged])).toEqual([
      ['first', 3],
      ['second', 2],
    ]);
  });

  it('is a loss by when the event was acknowledged, and a duplicate that it explains', () => {
    const acknowledged = acknowledge({ m1: 6_500 });
    const [event] = [...acknowledged.values()];
    const requests = [buildRequest({ arrivedAt: 900, endedAt: 1_100 }), buildRequest({ arrivedAt: 6_900 })];
    const verdicts = {
      ...NOTHING,
      lost: event ? [{ event, endpoint: 'one' }] : [],
      duplicates: [{ pair: 'm1 at one', requests, isExplained: true }],
    };
    const tallies = tallyFaults(ledger({ faults, acknowledged, requests }), SPECS, verdicts);
    expect(tallies).toMatchObject([
      { lost: 0, duplicates: 1 },
      { lost: 1, duplicates: 0 },
    ]);
  });

  it('is one tally for all strikes of one fault', () => {
    const strikes = [fault('loop', 0, 1), { ...fault('loop', 5, 6), isFurtherStrike: true }];
    expect(tallyFaults(ledger({ faults: strikes }), SPECS, NOTHING)).toHaveLength(1);
  });
});

describe('requests in flight', () => {
  const three = [0, 10, 20].map((arrivedAt) => buildRequest({ arrivedAt, endedAt: 100 }));
  const found = (requests: ReceivedRequest[], cap: number, faults: InjectedFault[] = []) =>
    checkInFlight({ requests, faults }, 'one', cap).map(({ check }) => check);

  it('are as many as allowed when one ends where the next begins', () => {
    expect(
      found([buildRequest({ arrivedAt: 0, endedAt: 50 }), buildRequest({ arrivedAt: 50, endedAt: 90 })], 1),
    ).toEqual([]);
  });

  it('are too many when more overlap than may', () => {
    expect(found(three, 3)).toEqual([]);
    expect(found(three, 2)).toEqual(['too many requests in flight']);
  });

  it('do not count when a fault hit them, or they broke off', () => {
    expect(found(three, 2, [fault('kill', 15, 16)])).toEqual([]);
    expect(
      found(
        three.map((one) => ({ ...one, status: null })),
        2,
      ),
    ).toEqual([]);
  });
});

function ledger(change: Partial<Ledger>): Ledger {
  return {
    published: new Map(),
    acknowledged: new Map(),
    requests: [],
    faults: [],
    recorded: [],
    resends: [],
    ...change,
  };
}

function acknowledge(times: Readonly<Record<string, number>>): Map<string, AcknowledgedEvent> {
  const type = 'keyword.quick_win';
  return new Map(
    Object.entries(times).map(([marker, acknowledgedAt]) => [
      marker,
      { marker, type, madeAt: 0, id: marker, acknowledgedAt },
    ]),
  );
}

function fault(kind: string, startedAt: number, endedAt: number): InjectedFault {
  return { kind, victim: 'worker A', startedAt, endedAt, mayRepeat: true };
}
