import type { EndpointSpec } from '../endpoints';
import type { AcknowledgedEvent, InjectedFault, ReceivedRequest, RecordedDelivery, Resend } from '../ledger';
import { buildRequest } from './build-request';
import { checkContent } from './check-content';
import { checkOrder } from './check-order';
import { checkRate } from './check-rate';
import { checkRecord } from './check-record';
import { findDuplicates } from './find-duplicates';
import { findLost } from './find-lost';
import { findTwoJobs } from './find-two-jobs';
import { createMeasureRecovery } from './measure-recovery';
import { checkResends } from './resends';

const SPECS: readonly EndpointSpec[] = [
  { name: 'one', events: ['keyword.*'], respondsAfterMs: 0, isPrompt: true },
  { name: 'all', events: ['*'], respondsAfterMs: 0, isPrompt: true },
  { name: 'foreign', events: ['*'], respondsAfterMs: 0, isForeign: true },
];

describe('what is lost', () => {
  it('is what was acknowledged and never accepted, at each endpoint that was to get it', () => {
    const acknowledged = acknowledge('m1');
    const requests = [buildRequest({ endpoint: 'one' })];
    const lost = findLost({ acknowledged, published: acknowledged, requests }, SPECS);
    expect(lost.map(({ endpoint }) => endpoint)).toEqual(['all']);
  });

  it('is also what was refused to the end', () => {
    const requests = [buildRequest({ endpoint: 'one', status: 500 }), buildRequest({ endpoint: 'all' })];
    const acknowledged = acknowledge('m1');
    expect(findLost({ acknowledged, published: acknowledged, requests }, SPECS)).toHaveLength(1);
  });

  describe('where only the newest of a group is sent', () => {
    const options = { ordering: 'group', coalesce: { window_ms: 100 } };
    const specs = [{ name: 'newest', events: ['*'], respondsAfterMs: 0, options }];
    const acknowledged = inGroups({ m1: 'a', m2: 'a', m3: 'b' });
    const lostAfter = (markers: readonly string[], known = acknowledged) => {
      const requests = markers.map((marker) => buildRequest({ marker, endpoint: 'newest' }));
      const lost = findLost({ acknowledged: known, published: acknowledged, requests }, specs);
      return lost.map(({ event }) => event.marker);
    };

    it('is no older one of the same group', () => {
      expect(lostAfter(['m2', 'm3'])).toEqual([]);
      expect(lostAfter(['m2'])).toEqual(['m3']);
    });

    it('is a newer one', () => {
      expect(lostAfter(['m1', 'm3'])).toEqual(['m2']);
    });

    it('is none that one without an acknowledgement may have taken the place of', () => {
      const known = new Map([...acknowledged].filter(([marker]) => marker !== 'm1'));
      expect(lostAfter(['m1', 'm3'], known)).toEqual([]);
    });
  });
});

describe('a duplicate', () => {
  const repeated = [buildRequest({ arrivedAt: 1_000 }), buildRequest({ arrivedAt: 9_000 })];

  it('is explained by a fault that hit the attempt before it', () => {
    const faults = [fault({ startedAt: 1_500, endedAt: 1_500 })];
    expect(findDuplicates({ requests: repeated, faults })).toMatchObject([{ isExplained: true }]);
  });

  it('is not explained by a fault that came when the attempt had long been on record', () => {
    const faults = [fault({ startedAt: 8_000, endedAt: 8_500 })];
    expect(findDuplicates({ requests: repeated, faults })).toMatchObject([{ isExplained: false }]);
  });

  it('is not explained by a fault that has no attempt made again', () => {
    const faults = [fault({ startedAt: 1_000, endedAt: 1_500, mayRepeat: false })];
    expect(findDuplicates({ requests: repeated, faults })).toMatchObject([{ isExplained: false }]);
  });

  it('needs a fault of its own: one does not explain two', () => {
    const faults = [fault({ startedAt: 1_000, endedAt: 20_000 })];
    const requests = [...repeated, buildRequest({ arrivedAt: 14_000 })];
    expect(findDuplicates({ requests, faults })).toMatchObject([{ isExplained: false }]);
  });

  it('is none where the first was refused', () => {
    const requests = [buildRequest({ status: 500 }), buildRequest({ attempt: 2, arrivedAt: 2_000 })];
    expect(findDuplicates({ requests, faults: [] })).toEqual([]);
  });
});

describe('two jobs for one delivery', () => {
  it('show when a request comes while another one is under way', () => {
    const requests = [
      buildRequest({ endedAt: 2_000, status: 500 }),
      buildRequest({ attempt: 2, arrivedAt: 1_500 }),
    ];
    expect(findTwoJobs({ requests, faults: [] })).toMatchObject([{ sign: 'overlapping requests' }]);
  });

  it('do not show in that when the sender of the first one was stopped', () => {
    const requests = [buildRequest({ endedAt: 2_000 }), buildRequest({ arrivedAt: 1_500 })];
    const faults = [fault({ startedAt: 1_200, endedAt: 2_000 })];
    expect(findTwoJobs({ requests, faults })).toEqual([]);
  });

  it('show when attempts are counted on after one was accepted', () => {
    const requests = [buildRequest({ attempt: 1 }), buildRequest({ attempt: 2, arrivedAt: 9_000 })];
    expect(findTwoJobs({ requests, faults: [] })).toMatchObject([{ sign: 'attempts after acceptance' }]);
  });

  it('show when an attempt comes more often than faults can explain', () => {
    const requests = [buildRequest({ status: 500 }), buildRequest({ arrivedAt: 9_000 })];
    expect(findTwoJobs({ requests, faults: [] })).toMatchObject([{ sign: 'an attempt repeated too often' }]);
  });

  it('do not show in the number of a request with several events, which is that of its first one', () => {
    const alone = buildRequest({ status: 500 });
    const together = { requestId: 'together', arrivedAt: 9_000 };
    const requests = [alone, buildRequest({ marker: 'm2', ...together }), buildRequest(together)];
    expect(findTwoJobs({ requests, faults: [] })).toEqual([]);
    const first = [alone, buildRequest(together), buildRequest({ marker: 'm2', ...together })];
    expect(findTwoJobs({ requests: first, faults: [] })).toHaveLength(1);
  });

  it('do not show in attempts that follow each other', () => {
    const requests = [buildRequest({ status: 500 }), buildRequest({ attempt: 2, arrivedAt: 2_000 })];
    expect(findTwoJobs({ requests, faults: [] })).toEqual([]);
  });
});

describe('the content of requests', () => {
  const published = new Map([['m1', { marker: 'm1', type: 'keyword.quick_win', madeAt: 0 }]]);
  const checksOf = (...requests: ReceivedRequest[]) =>
    checkContent({ published, requests }, SPECS).map(({ check }) => check);

  it('is as promised when each came to who asked for it, genuine and unchanged', () => {
    expect(checksOf(buildRequest(), buildRequest({ endpoint: 'all' }))).toEqual([]);
  });

  it.each([
    ['sent to an endpoint that had not asked for it', [buildRequest({ endpoint: 'foreign' })]],
    ['never published', [buildRequest({ marker: 'm9' })]],
    ['signature wrong', [buildRequest({ isVerified: false })]],
    ['body changed between attempts', [buildRequest(), buildRequest({ attempt: 2, bodyHash: 'other' })]],
    ['one event became two', [buildRequest(), buildRequest({ endpoint: 'all', eventId: 'evt_2' })]],
  ])('is not: %s', (check, requests) => {
    expect(checksOf(...requests)).toEqual([check]);
  });
});

describe('an event that came under two ids', () => {
  const published = new Map([['m1', { type: 'keyword.quick_win' }]]) as never;
  const check = (ids: readonly string[], losses: number) =>
    checkContent({ published, requests: ids.map((eventId) => buildRequest({ eventId })) }, SPECS, losses);

  it('is explained where Redis may have lost its Idempotency-Key, and it has no id of ours', () => {
    expect(check(['evt_1', 'evt_2'], 1)).toEqual([]);
    expect(check(['evt_1', 'evt_2'], 0)).toMatchObject([{ check: 'one event became two' }]);
    expect(check(['m1', 'evt_2'], 1)).toMatchObject([{ check: 'one event became two' }]);
  });
});

describe('what code has made of an event', () => {
  const specs: readonly EndpointSpec[] = [{ name: 'one', events: ['*'], respondsAfterMs: 0, code: 'made' }];
  const published = new Map([['m1', { type: 'keyword.quick_win' }]]) as never;
  const resends: readonly Resend[] = [
    { eventId: 'evt_m1', endpoint: 'one', askedAt: 5_000, isAcknowledged: true },
  ];
  const of = (arrivedAt: number, bodyHash: string) => buildRequest({ arrivedAt, bodyHash });
  const check = (requests: readonly ReceivedRequest[], at = specs, losses = 0) =>
    checkContent({ published, requests, resends }, at, losses).map((finding) => finding.check);

  it('may be made anew once it is to be sent again, and what was made before may come once more', () => {
    expect(check([of(1_000, 'old'), of(6_000, 'old'), of(7_000, 'new'), of(8_000, 'new')])).toEqual([]);
  });

  it.each<[string, readonly ReceivedRequest[]]>([
    ['before that', [of(1_000, 'old'), of(2_000, 'new')]],
    ['twice after it', [of(1_000, 'old'), of(6_000, 'new'), of(7_000, 'newer')]],
  ])('does not change %s', (_when, requests) => {
    expect(check(requests)).toEqual(['body changed between attempts']);
  });

  it('may be made anew once for each time that Redis may have lost it', () => {
    const requests = [of(1_000, 'old'), of(2_000, 'new'), of(3_000, 'newer')];
    expect(check(requests, specs, 2)).toEqual([]);
    expect(check(requests, specs, 1)).toEqual(['body changed between attempts']);
  });

  it('does not change at an endpoint without code', () => {
    const requests = [of(1_000, 'old'), of(6_000, 'new')];
    const plain = [{ name: 'one', events: ['*'], respondsAfterMs: 0 }];
    expect(check(requests, plain)).toEqual(['body changed between attempts']);
    expect(check(requests, plain, 1)).toEqual(['body changed between attempts']);
  });
});

describe('a delivery that is to be sent again', () => {
  const resend: Resend = { eventId: 'evt_m1', endpoint: 'one', askedAt: 5_000, isAcknowledged: true };
  const twice = [buildRequest({ arrivedAt: 1_000 }), buildRequest({ attempt: 2, arrivedAt: 6_000 })] as const;
  const seen = (requests: readonly ReceivedRequest[], resends: readonly Resend[]) => ({
    requests,
    resends,
    faults: [],
    recorded: [],
  });

  it('is as promised when it comes once more', () => {
    const ledger = seen(twice, [resend]);
    expect(findDuplicates(ledger)).toEqual([]);
    expect(findTwoJobs(ledger)).toEqual([]);
    expect(checkResends(ledger)).toEqual([]);
  });

  it('is not when it comes twice more, or comes again though another one was asked for', () => {
    const thrice = [...twice, buildRequest({ attempt: 3, arrivedAt: 9_000 })];
    expect(findDuplicates(seen(thrice, [resend]))).toMatchObject([{ isExplained: false }]);
    expect(findTwoJobs(seen(thrice, [resend]))).toMatchObject([{ sign: 'attempts after acceptance' }]);
    const ofAnother = { ...resend, endpoint: 'all' };
    expect(findDuplicates(seen(twice, [ofAnother]))).toMatchObject([{ isExplained: false }]);
  });

  it('is not when it comes no more, unless that was never confirmed', () => {
    const once = twice.slice(0, 1);
    expect(checkResends(seen(once, [resend]))).toMatchObject([{ count: 1 }]);
    expect(checkResends(seen(once, [{ ...resend, isAcknowledged: false }]))).toEqual([]);
  });

  it('is as promised when its receiver was broken at that moment, if the attempt is on record', () => {
    const [first, second] = twice;
    const broken = { ...seen([first, { ...second, status: null }], [resend]) };
    const away = {
      kind: 'receivers-down-2m',
      victim: 'receivers',
      startedAt: 5_500,
      endedAt: 9_000,
      mayRepeat: false,
    };
    const recorded = [{ endpoint: 'one', eventId: 'evt_m1', status: 'delivered', attemptCount: 2 }];
    expect(checkResends({ ...broken, faults: [away], recorded })).toEqual([]);
    const notRecorded = [{ ...recorded[0], attemptCount: 1 }] as typeof recorded;
    expect(checkResends({ ...broken, faults: [away], recorded: notRecorded })).toMatchObject([{ count: 1 }]);
    const later = { ...away, startedAt: 20_000, endedAt: 30_000 };
    expect(checkResends({ ...broken, faults: [later], recorded })).toMatchObject([{ count: 1 }]);
    const ofWorker = { ...away, kind: 'worker-kill', victim: 'worker A' };
    expect(checkResends({ ...broken, faults: [ofWorker], recorded })).toMatchObject([{ count: 1 }]);
  });
});

describe('a rate limit', () => {
  const times = [0, 100, 200, 999, 1_100];
  const requests = times.map((arrivedAt) => buildRequest({ arrivedAt }));

  it('is kept when no second had more than it allows, but for one that was on its way', () => {
    expect(checkRate({ requests }, 'one', 3)).toEqual([]);
  });

  it('is exceeded when one had', () => {
    expect(checkRate({ requests }, 'one', 2)).toMatchObject([{ check: 'rate limit exceeded' }]);
  });

  it('does not count what was broken off', () => {
    const broken = requests.map((one) => ({ ...one, status: null }));
    expect(checkRate({ requests: broken }, 'one', 1)).toEqual([]);
  });
});

describe('order', () => {
  const acknowledged = inGroups({ m1: 'a', m2: 'a' });

  it('is kept when one comes again after the next', () => {
    const requests = [
      buildRequest({ arrivedAt: 1 }),
      buildRequest({ marker: 'm2', arrivedAt: 2 }),
      buildRequest({ arrivedAt: 3 }),
    ];
    expect(checkOrder({ acknowledged, requests }, 'one', 'strict')).toEqual([]);
  });

  it('is not when one comes for the first time after the next', () => {
    const requests = [
      buildRequest({ arrivedAt: 1, status: 500 }),
      buildRequest({ marker: 'm2', arrivedAt: 2 }),
      buildRequest({ attempt: 2, arrivedAt: 3 }),
    ];
    for (const ordering of ['strict', 'group'] as const)
      expect(checkOrder({ acknowledged, requests }, 'one', ordering)).toMatchObject([
        { check: 'order not kept' },
      ]);
  });

  it('of groups lets one overtake another', () => {
    const requests = [buildRequest({ marker: 'm2', arrivedAt: 2 }), buildRequest({ arrivedAt: 3 })];
    const apart = inGroups({ m1: 'a', m2: 'b' });
    expect(checkOrder({ acknowledged: apart, requests }, 'one', 'group')).toEqual([]);
    expect(checkOrder({ acknowledged: apart, requests }, 'one', 'strict')).toHaveLength(1);
  });

  it('is none of two that were published at once', () => {
    const requests = [buildRequest({ marker: 'm2', arrivedAt: 2 }), buildRequest({ arrivedAt: 3 })];
    const atOnce = acknowledge('m1', 'm2');
    expect(checkOrder({ acknowledged: atOnce, requests }, 'one', 'strict')).toEqual([]);
  });

  it('need not be of one that Redis has lost, and that is sent again', () => {
    const loss = fault({ startedAt: 1_000, endedAt: 2_000 });
    const requests = [buildRequest({ marker: 'm2', arrivedAt: 2_500 }), buildRequest({ arrivedAt: 3_000 })];
    expect(checkOrder({ acknowledged, requests }, 'one', 'strict', [loss])).toEqual([]);
    const justBefore = { ...loss, endedAt: 3_500 };
    expect(checkOrder({ acknowledged, requests }, 'one', 'strict', [justBefore])).toEqual([]);
    const later = { ...loss, endedAt: 4_500 };
    expect(checkOrder({ acknowledged, requests }, 'one', 'strict', [later])).toHaveLength(1);
  });
});

describe('the record', () => {
  const checksOf = (recorded: readonly RecordedDelivery[], requests = [buildRequest({ attempt: 2 })]) =>
    checkRecord({ acknowledged: acknowledge('m1'), requests, recorded }).map(({ check }) => check);

  it('agrees when what was accepted is delivered, with all its attempts', () => {
    expect(checksOf([record({ attemptCount: 2 })])).toEqual([]);
  });

  it('does not when something has no end', () => {
    expect(checksOf([record({ status: 'pending' })], [])).toEqual(['without an end in the API']);
  });

  it('does not when what was accepted is something else, or not there', () => {
    expect(checksOf([record({ status: 'exhausted', attemptCount: 2 })])).toEqual([
      'accepted by a receiver, not delivered in the API',
    ]);
    expect(checksOf([])).toContain('accepted by a receiver, not delivered in the API');
  });

  it('does not when attempts are missing', () => {
    expect(checksOf([record({ attemptCount: 1 })])).toEqual(['fewer attempts in the API than came']);
  });

  it('does not count by the number in a request with several events, which is that of its first one', () => {
    const requestId = 'together';
    const requests = ['m1', 'm2'].map((marker) => buildRequest({ marker, requestId, attempt: 2 }));
    const recorded = [1, 3].map((attemptCount, i) => record({ eventId: `evt_m${i + 1}`, attemptCount }));
    expect(checkRecord({ acknowledged: acknowledge('m1', 'm2'), requests, recorded })).toEqual([]);
  });

  it('does not when there are more attempts than came, unless a fault hit one', () => {
    expect(checksOf([record({ attemptCount: 3 })])).toEqual(['more attempts in the API than came']);
    const ledger = { acknowledged: acknowledge('m1'), requests: [buildRequest({ attempt: 2 })] };
    const recorded = [record({ attemptCount: 3 })];
    const faults = [fault({ startedAt: 1_000, endedAt: 1_500 })];
    expect(checkRecord({ ...ledger, recorded, faults })).toEqual([]);
  });

  it('does not when something is listed twice', () => {
    expect(checksOf([record(), record()])).toEqual(['listed more than once']);
  });

  it('does not when something is delivered that nobody accepted', () => {
    expect(checksOf([record()], [])).toEqual(['delivered in the API, accepted by nobody']);
  });
});

describe('recovery', () => {
  it("of a killed worker's requests lasts until the next one for the same", () => {
    const kill = fault({ kind: 'worker-kill', startedAt: 1_000, endedAt: 1_002 });
    const requests = [
      buildRequest({ arrivedAt: 900, endedAt: 1_004, status: null }),
      buildRequest({ arrivedAt: 4_000 }),
      buildRequest({ endpoint: 'all', arrivedAt: 990, endedAt: 995 }),
    ];
    const ledger = { acknowledged: acknowledge('m1'), requests };
    expect(createMeasureRecovery(ledger, SPECS)(kill)).toEqual([3_000]);
  });

  it('of anything else lasts until what was acknowledged before has been accepted', () => {
    const stop = fault({ startedAt: 1_000, endedAt: 3_000 });
    const requests = [
      buildRequest({ arrivedAt: 3_400, endedAt: 3_500 }),
      buildRequest({ endpoint: 'all', arrivedAt: 950, endedAt: 960 }),
    ];
    const ledger = { acknowledged: acknowledge('m1'), requests };
    expect(createMeasureRecovery(ledger, SPECS)(stop)).toEqual([2_500]);
  });
});

function record(change: Partial<RecordedDelivery> = {}): RecordedDelivery {
  return { endpoint: 'one', eventId: 'evt_m1', status: 'delivered', attemptCount: 2, ...change };
}

function fault(change: Partial<InjectedFault> = {}): InjectedFault {
  return {
    kind: 'worker-stop-short',
    victim: 'worker A',
    startedAt: 0,
    endedAt: 0,
    mayRepeat: true,
    ...change,
  };
}

function acknowledge(...markers: string[]): Map<string, AcknowledgedEvent> {
  const type = 'keyword.quick_win';
  return new Map(
    markers.map((marker) => [marker, { marker, type, madeAt: 0, id: `evt_${marker}`, acknowledgedAt: 500 }]),
  );
}

/** Each made after the acknowledgement of the one before. */
function inGroups(groups: Readonly<Record<string, string>>): Map<string, AcknowledgedEvent> {
  const events = acknowledge(...Object.keys(groups)).values();
  return new Map(
    [...events].map((event, i) => {
      const { marker } = event;
      return [
        marker,
        { ...event, group: groups[marker] ?? '', madeAt: i * 100, acknowledgedAt: i * 100 + 50 },
      ];
    }),
  );
}
