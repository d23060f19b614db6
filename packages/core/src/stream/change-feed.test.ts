import { fake } from '../testing/fake';
import { signalSamples } from '../testing/signal-samples';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import {
  Backlog,
  ChangeFeed,
  changesOf,
  isStreamed,
  MOST_A_SECOND,
  MOST_OF_ONE_EVENT,
  TELL_ROLLBACK_AFTER_MS,
} from './change-feed';
import { type Change, type ChangeStore, changeSchema } from './redis-change-store';

describe('backlog', () => {
  const change: Change = { kind: 'webhook', change: 'updated', endpointId: uniqueEndpointId() };
  const RESET: Change = { kind: 'reset' };
  const changes = (count: number) => Array.from({ length: count }, () => change);

  it('gives what was added, once', () => {
    const backlog = new Backlog();
    backlog.add([change, change], 0);
    expect(backlog.isEmpty).toBe(false);
    expect(backlog.take(0)).toEqual([change, change]);
    expect(backlog.take(0)).toEqual([]);
    expect(backlog.isEmpty).toBe(true);
  });

  it('holds no more than it may in a second, and says with the next one that something is missing', () => {
    const backlog = new Backlog();
    for (let i = 0; i < 10; i += 1) backlog.add(changes(MOST_A_SECOND / 4), 100);
    expect(backlog.take(200)).toHaveLength(MOST_A_SECOND);
    // Later on in the same second nothing is told, not even that.
    backlog.add([change], 900);
    expect(backlog.take(1_000)).toEqual([]);
    expect(backlog.isEmpty).toBe(false);
    expect(backlog.take(1_100)).toEqual([RESET]);
    backlog.add([change], 1_200);
    expect(backlog.take(1_200)).toEqual([change]);
  });

  it('holds no more than that while nothing can be written, however long that is', () => {
    const backlog = new Backlog();
    for (let now = 0; now < 60_000; now += 1_000) backlog.add(changes(MOST_A_SECOND), now);
    expect(backlog.take(60_000)).toEqual([...changes(MOST_A_SECOND), RESET]);
  });

  it('says that something could not be written, once', () => {
    const backlog = new Backlog();
    backlog.miss();
    expect(backlog.take(0)).toEqual([RESET]);
    expect(backlog.take(0)).toEqual([]);
  });
});

describe('changes of signal', () => {
  const NOW = 1_700_000_000_000;
  const streamed = Object.values(signalSamples).filter(isStreamed);
  const attempted = signalSamples['delivery.attempted'];
  const fannedOut = signalSamples['event.fanned_out'];

  it.each(streamed.map((signal) => [signal.name, signal] as const))(
    'reports the facts of %s that can be read again',
    (_name, signal) => {
      const changes = changesOf(signal, NOW);
      expect(changes).toHaveLength(1);
      for (const change of changes)
        expect(changeSchema.parse(JSON.parse(JSON.stringify(change)))).toEqual(change);
    },
  );

  it('tells nothing of what is no change of what an account has', () => {
    expect(isStreamed(signalSamples['request.completed'])).toBe(false);
  });

  it('says of a failed attempt when the next one is due', () => {
    const failed = {
      ...attempted,
      outcome: 'http_5xx',
      responseStatus: 503,
      nextDelayMs: 5_000,
      attempt: 2,
    } as const;
    expect(changesOf(failed, NOW)).toMatchObject([
      {
        change: 'attempted',
        delivery: {
          status: 'pending',
          attemptCount: 2,
          lastOutcome: 'http_5xx',
          lastResponseStatus: 503,
          nextAttemptAt: NOW + 5_000,
        },
      },
    ]);
  });

  it('leaves it to what follows what became of the delivery otherwise', () => {
    expect(changesOf(attempted, NOW)).toMatchObject([{ delivery: { lastOutcome: 'delivered' } }]);
    expect(changesOf(attempted, NOW)).not.toMatchObject([{ delivery: { status: expect.anything() } }]);
  });

  it('reports each delivery of an event, unless there are too many', () => {
    const receivers = Array.from({ length: MOST_OF_ONE_EVENT }, () => ({ id: uniqueEndpointId() }));
    expect(changesOf({ ...fannedOut, receivers }, NOW)).toHaveLength(MOST_OF_ONE_EVENT);
    const tooMany = [...receivers, { id: uniqueEndpointId() }];
    expect(changesOf({ ...fannedOut, receivers: tooMany }, NOW)).toBe('too_many');
  });
});

describe('change feed', () => {
  // Between the end of a run and the moment when the next one may begin there are a few turns of promises.
  it.each(Array.from({ length: 12 }, (_, turns) => turns))(
    'writes a change that comes %i turns after the last one was written',
    async (turns) => {
      const accountId = uniqueAccountId();
      const created = { ...signalSamples['endpoint.created'], accountId };
      let written = 0;
      let isWritten = () => {};
      const both = new Promise<void>((resolve) => (isWritten = resolve));
      const feed = new ChangeFeed({
        changeStore: fake<ChangeStore>({
          readWatched: async () => [accountId],
          async append() {
            written += 1;
            if (written === 2) return isWritten();
            void listenAfter(turns);
          },
        }),
        gatherMs: 1,
        clock: Date.now,
        emit: () => {},
      });
      const listenAfter = async (count: number) => {
        for (let turn = 0; turn < count; turn += 1) await Promise.resolve();
        feed.listen(created);
      };
      feed.listen(created);
      await both;
      expect(written).toBe(2);
      await feed.stop();
    },
  );

  it('tells every watched account that Redis went back', async () => {
    const accounts = [uniqueAccountId(), uniqueAccountId()];
    const told = new Map<string, readonly Change[]>();
    const changeStore = fake<ChangeStore>({
      readWatched: async () => accounts,
      append: async (account, changes) => void told.set(account, changes),
    });
    const feed = new ChangeFeed({ changeStore, gatherMs: 1, clock: Date.now, emit: () => {} });
    jest.useFakeTimers();
    feed.listen({ name: 'redis.rolled_back', until: '2026-11-21T16:13:08.000Z' });
    await jest.advanceTimersByTimeAsync(TELL_ROLLBACK_AFTER_MS);
    jest.useRealTimers();
    const change: Change = { kind: 'rolled_back', since: null, until: '2026-11-21T16:13:08.000Z' };
    expect([...told]).toEqual(accounts.map((account) => [account, [change]]));
    await feed.stop();
  });
});
