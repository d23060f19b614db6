import type { Endpoint } from '../domain/endpoint';
import { DeliveryScene, disabledEndpoint, HELD, NOW, responded } from '../testing/arrange-delivery';
import { buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';

let scene: DeliveryScene;
beforeAll(async () => {
  scene = await DeliveryScene.open();
});
afterEach(() => scene.clear());
afterAll(() => scene.close());

const DONE = { kind: 'done' };
const discarding = (change: Partial<Endpoint> = {}): Endpoint => ({
  ...disabledEndpoint(),
  whileDisabled: 'discard',
  ...change,
});
const heldSince = (since: number) => ({ hasWaited: true, holds: [{ reason: 'disabled', since }] }) as const;

describe('a delivery that is due while its endpoint is disabled and discards', () => {
  it('ends as cancelled, with the reason and a signal, and is no longer on its way', async () => {
    const noted: unknown[] = [];
    const endedList = {
      add: async (...args: unknown[]) => void noted.push(args),
      addAll: () => async () => {},
    };
    const { deliver, run, requests, readRecord, isHeld, signals } = await scene.arrange({
      endpoint: discarding(),
      endedList,
    });
    expect(await deliver()).toEqual(DONE);
    expect(requests).toEqual([]);
    expect(await readRecord()).toMatchObject({
      status: 'cancelled',
      cancelReason: 'discarded',
      isOpen: false,
      attemptCount: 0,
    });
    expect(await isHeld()).toBe(false);
    expect(signals.named('delivery.ended')).toMatchObject([{ status: 'cancelled' }]);
    expect(noted).toEqual([[run, NOW]]);
  });

  it('is no obstacle to those behind it in a strict order', async () => {
    const arranged = await scene.arrange({ endpoint: discarding({ ordering: 'strict' }) });
    const next = await scene.giveTurn(arranged);
    expect(await arranged.deliver()).toEqual(DONE);
    expect(await next.isTurnKept()).toBe(false);
    const first = await arranged.admission.besideLanes.first(arranged.run.endpointId);
    expect(first?.eventId).toBe(next.entry.eventId);
  });

  it('ends once, though its worker died before the job ended', async () => {
    const { deliver, log, signals } = await scene.arrange({ endpoint: discarding() });
    await deliver();
    expect(await deliver()).toEqual(DONE);
    expect(await log()).toBe('{"c":"discarded"}\n');
    expect(signals.named('delivery.ended')).toHaveLength(1);
  });

  it('is not discarded before it is due', async () => {
    const retried = { kind: 'attempted', attempt: buildAttempt(), nextAttemptAt: NOW + 5_000 } as const;
    const { deliver, moveClock, readRecord } = await scene.arrange({
      endpoint: discarding(),
      log: [retried],
    });
    expect(await deliver()).toEqual({ kind: 'later', delayMs: 5_000 });
    moveClock(5_000);
    expect(await deliver()).toEqual(DONE);
    expect(await readRecord()).toMatchObject({ status: 'cancelled', attemptCount: 1 });
  });

  it.each<[string, Parameters<DeliveryScene['arrange']>[0]]>([
    ['it was held before', { job: heldSince(NOW - 1) }],
    [
      'a client has requested it',
      { job: { request: { requestId: 'rdl_1', trigger: 'manual', requestedAt: NOW } } },
    ],
    ['the operator has paused its account', { endpoint: discarding({ disabledReason: 'operator' }) }],
    ['its endpoint holds', { endpoint: disabledEndpoint() }],
  ])('is held if %s', async (_when, given) => {
    const { deliver, readRecord } = await scene.arrange({ endpoint: discarding(), ...given });
    expect(await deliver()).toEqual(HELD);
    expect(await readRecord()).toMatchObject({ status: 'pending', isOpen: true });
  });
});

describe('a delivery that runs after a client has discarded what was held', () => {
  const at = NOW - 500;
  const endpoint = (isDone = false) => buildEndpoint({ heldDiscard: { at, isDone } });

  it.each([false, true])(
    'ends as cancelled if it was held then, whether all are released: %s',
    async (isDone) => {
      const { deliver, requests, readRecord } = await scene.arrange({
        endpoint: endpoint(isDone),
        job: heldSince(at),
      });
      expect(await deliver()).toEqual(DONE);
      expect(requests).toEqual([]);
      expect(await readRecord()).toMatchObject({ status: 'cancelled', cancelReason: 'discarded' });
    },
  );

  const attemptedSince = {
    kind: 'attempted',
    attempt: buildAttempt({ startedAt: NOW - 100 }),
    nextAttemptAt: NOW,
  } as const;
  const requestedSince = {
    kind: 'requested',
    requestId: 'rdl_1',
    trigger: 'manual',
    requestedAt: at + 1,
  } as const;
  it.each<[string, Parameters<DeliveryScene['arrange']>[0]]>([
    ['it was held later', { job: heldSince(at + 1) }],
    ['it was accepted later, to a lane that was held', { job: heldSince(at), acceptedAt: at + 1 }],
    ['it was never held', {}],
    ['it was tried since it was held', { job: heldSince(at), log: [attemptedSince] }],
    ['it was requested since', { job: heldSince(at), log: [requestedSince] }],
  ])('is sent if %s', async (_when, given) => {
    const { deliver, requests } = await scene.arrange({
      endpoint: endpoint(),
      results: [responded(204)],
      ...given,
    });
    expect(await deliver()).toEqual(DONE);
    expect(requests).toHaveLength(1);
  });

  it('that it was held for before it came back by itself has no entry any more', async () => {
    const arranged = await scene.arrange({ endpoint: endpoint(), job: heldSince(at) });
    const { run, event, deliver, isHeld, admission } = arranged;
    await admission.heldDeliveries.enter(run, { ...run, acceptedAt: event.acceptedAt }, NOW, 'disabled');
    await deliver();
    expect(await isHeld()).toBe(false);
  });
});
