import { keys } from '../domain/keys';
import { EventStore } from '../events/redis-event-store';
import { buildEvent } from '../testing/build-event';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { uniqueAccountId, uniqueEventId } from '../testing/unique-ids';
import { EventClaimStore } from './redis-event-claim-store';

const RETENTION_MS = 60_000;

let redis: TestRedis;
let claims: EventClaimStore;
beforeAll(async () => {
  redis = await openTestRedis();
  claims = new EventClaimStore(redis.client, RETENTION_MS);
});
afterAll(() => redis.close());

function ids() {
  return [uniqueAccountId(), uniqueEventId()] as const;
}

describe('EventClaimStore', () => {
  it('gives later claims of the same content the time of the first, open until it is marked as queued', async () => {
    const [account, id] = ids();
    expect(await claims.claim(account, id, 'digest', 1_000)).toEqual({ state: 'open', acceptedAt: 1_000 });
    expect(await claims.claim(account, id, 'digest', 2_000)).toEqual({ state: 'open', acceptedAt: 1_000 });
    await claims.markQueued(account, id);
    expect(await claims.claim(account, id, 'digest', 3_000)).toEqual({ state: 'queued', acceptedAt: 1_000 });
  });

  it('is taken for other content, queued or not', async () => {
    const [account, id] = ids();
    await claims.claim(account, id, 'digest', 1_000);
    expect(await claims.claim(account, id, 'other', 1_000)).toEqual({ state: 'taken' });
    await claims.markQueued(account, id);
    expect(await claims.claim(account, id, 'other', 1_000)).toEqual({ state: 'taken' });
  });

  it('lets one alone be the first to say that it is queued', async () => {
    const [account, id] = ids();
    await claims.claim(account, id, 'digest', 1_000);
    const said = await Promise.all(Array.from({ length: 20 }, () => claims.markQueued(account, id)));
    expect(said.filter(Boolean)).toHaveLength(1);
  });

  it('knows an event that came in by the queue', async () => {
    const event = buildEvent();
    await new EventStore(redis.client, testRetention).save(event);
    expect(await claims.claim(event.accountId, event.id, 'digest', 1_000)).toEqual({ state: 'stored' });
  });

  it('lets accounts use the same id', async () => {
    const [account, id] = ids();
    await claims.claim(account, id, 'digest', 1_000);
    expect(await claims.claim(uniqueAccountId(), id, 'other', 1_000)).toMatchObject({ state: 'open' });
  });

  it('is kept for the retention, and not brought back by a late word that it is queued', async () => {
    const [account, id] = ids();
    await claims.claim(account, id, 'digest', 1_000);
    const key = keys.eventClaim(account, id);
    expect(await redis.client.pttl(key)).toBeGreaterThan(RETENTION_MS / 2);
    await redis.client.del(key);
    expect(await claims.markQueued(account, id)).toBe(false);
    expect(await redis.client.exists(key)).toBe(0);
  });
});
