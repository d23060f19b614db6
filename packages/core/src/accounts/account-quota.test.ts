import type { AccountId } from '../domain/account';
import { lapseOf, type UsageChange } from '../domain/usage';
import { fake } from '../testing/fake';
import { recordSignals } from '../testing/record-signals';
import { uniqueAccountId } from '../testing/unique-ids';
import { AccountQuota, UsageRecorder } from './account-quota';
import type { UsageStore } from './redis-usage-store';

describe('account quota', () => {
  const QUOTA = 1_000;

  /**
   * The accounts store as much as `stored` says, 0 if it says nothing; `looks` are those that were made for
   * an account.
   */
  function build({ defaultBytes = QUOTA } = {}) {
    let now = 0;
    const stored = new Map<AccountId, { usedBytes: number; own?: number }>();
    const looks: AccountId[] = [];
    const signals = recordSignals();
    const quota = new AccountQuota({
      usageStore: fake<UsageStore>({
        async look(accountId) {
          looks.push(accountId);
          const { usedBytes = 0, own } = stored.get(accountId) ?? {};
          const bytes = { events: usedBytes, deliveries: 0, answers: 0, replays: 0, sessions: 0 };
          return { usedBytes, ownQuotaBytes: own, bytes, events: 0, webhooks: 0, apiKeys: 0 };
        },
      }),
      defaultBytes,
      clock: () => now,
      emit: signals.listen,
    });
    return { quota, stored, looks, signals, pass: (ms: number) => void (now += ms) };
  }

  const EXCEEDED = { code: 'quota_exceeded' };

  it('asks nothing about an account that is within its quota, as publishing notes it', async () => {
    const { quota, looks } = build();
    const accountId = uniqueAccountId();
    await quota.requireRoomAsKnown(accountId, 'http');
    quota.note(accountId, { usedBytes: QUOTA - 1, ownQuotaBytes: undefined });
    await quota.requireRoomAsKnown(accountId, 'http');
    expect(looks).toEqual([]);
  });

  it('refuses an account that stores as much as it may, and says so', async () => {
    const { quota, stored, signals } = build();
    const accountId = uniqueAccountId();
    stored.set(accountId, { usedBytes: QUOTA });
    quota.note(accountId, { usedBytes: QUOTA, ownQuotaBytes: undefined });
    await expect(quota.requireRoomAsKnown(accountId, 'queue')).rejects.toMatchObject(EXCEEDED);
    expect(signals.named('quota.exceeded')).toEqual([{ name: 'quota.exceeded', accountId, door: 'queue' }]);
  });

  it('looks at it once a second at most, and lets it go on once there is room', async () => {
    const { quota, stored, looks, pass } = build();
    const accountId = uniqueAccountId();
    stored.set(accountId, { usedBytes: QUOTA });
    quota.note(accountId, { usedBytes: QUOTA, ownQuotaBytes: undefined });
    for (let i = 0; i < 5; i += 1) {
      await expect(quota.requireRoomAsKnown(accountId, 'http')).rejects.toMatchObject(EXCEEDED);
    }
    expect(looks).toHaveLength(1);
    stored.set(accountId, { usedBytes: QUOTA - 1 });
    pass(1_000);
    await expect(quota.requireRoomAsKnown(accountId, 'http')).resolves.toBeUndefined();
  });

  it('takes what has lapsed off before it refuses anybody', async () => {
    const { quota, stored } = build();
    const accountId = uniqueAccountId();
    stored.set(accountId, { usedBytes: 10 });
    quota.note(accountId, { usedBytes: 2 * QUOTA, ownQuotaBytes: undefined });
    await expect(quota.requireRoomAsKnown(accountId, 'http')).resolves.toBeUndefined();
  });

  it.each([
    ['more than others', 2 * QUOTA, 2 * QUOTA - 1, 2 * QUOTA],
    ['less than others', 10, 9, 10],
  ])('lets an account store %s, as its operator says', async (_what, own, within, beyond) => {
    const { quota, stored } = build();
    const accountId = uniqueAccountId();
    stored.set(accountId, { usedBytes: within, own });
    await quota.requireRoom(accountId, 'http');
    stored.set(accountId, { usedBytes: beyond, own });
    await expect(quota.requireRoom(accountId, 'http')).rejects.toMatchObject(EXCEEDED);
  });

  it.each([
    ['all accounts', { defaultBytes: 0 }, undefined],
    ['one account', {}, 0],
  ])('sets no limit for %s by a quota of 0', async (_what, options, own) => {
    const { quota, stored } = build(options);
    const accountId = uniqueAccountId();
    stored.set(accountId, { usedBytes: 1e15, ...(own === undefined ? {} : { own }) });
    await quota.requireRoom(accountId, 'http');
    expect(await quota.look(accountId)).toMatchObject({ quotaBytes: undefined });
  });

  it('tells how many accounts noted within an hour are near or beyond their quota', async () => {
    const { quota, pass } = build();
    quota.note(uniqueAccountId(), { usedBytes: 7 * QUOTA, ownQuotaBytes: undefined });
    pass(3_600_001);
    for (const usedBytes of [100, 799, 800, 999, QUOTA]) {
      quota.note(uniqueAccountId(), { usedBytes, ownQuotaBytes: undefined });
    }
    expect(quota.standings()).toEqual({ usedBytes: 3_698, near: 2, over: 1 });
  });
});

describe('usage recorder', () => {
  const KEPT_MS = 3_200;
  const ANSWERS_KEPT_MS = 6_400;

  function build() {
    const counted: { accountId: AccountId; changes: readonly UsageChange[] }[] = [];
    const signals = recordSignals();
    let isAway = false;
    const recorder = new UsageRecorder({
      usageStore: fake<UsageStore>({
        async count(accountId, changes) {
          if (isAway) throw new Error('no Redis');
          counted.push({ accountId, changes });
        },
      }),
      retentionMs: KEPT_MS,
      clock: () => 0,
      emit: signals.listen,
    });
    return { recorder, counted, signals, setAway: (to: boolean) => void (isAway = to) };
  }

  it('writes all that an account has stored with one command', async () => {
    const { recorder, counted } = build();
    const [one, other] = [uniqueAccountId(), uniqueAccountId()];
    for (let i = 0; i < 100; i += 1) recorder.note(one, 'deliveries', 10, 1_000);
    recorder.note(one, 'answers', 7, 1_000, ANSWERS_KEPT_MS);
    recorder.note(other, 'deliveries', -5, 1_000);
    await recorder.stop();
    const lapsesAt = lapseOf(1_000, KEPT_MS);
    expect(counted).toEqual([
      {
        accountId: one,
        changes: [
          { kind: 'deliveries', bytes: 1_000, lapsesAt },
          { kind: 'answers', bytes: 7, lapsesAt: lapseOf(1_000, ANSWERS_KEPT_MS) },
        ],
      },
      { accountId: other, changes: [{ kind: 'deliveries', bytes: -5, lapsesAt }] },
    ]);
  });

  it('keeps what can not be written for the next time', async () => {
    const { recorder, counted, signals, setAway } = build();
    const accountId = uniqueAccountId();
    setAway(true);
    recorder.note(accountId, 'events', 3);
    await recorder.flush();
    expect(signals.named('task.failed')).toMatchObject([{ task: 'count stored bytes' }]);
    setAway(false);
    recorder.note(accountId, 'events', 4);
    await recorder.stop();
    expect(counted).toMatchObject([{ accountId, changes: [{ kind: 'events', bytes: 7 }] }]);
  });
});
