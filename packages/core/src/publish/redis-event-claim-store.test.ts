import { keys } from '../domain/keys';
import { EventStore } from '../events/redis-event-store';
import { buildEvent, buildScheduledEvent } from '../testing/build-event';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { uniqueAccountId } from '../testing/unique-ids';
import { EventClaimStore } from './redis-event-claim-store';

const RETENTION_MS = 60_000;

let redis: TestRedis;
let claims: EventClaimStore;
beforeAll(async () => {
  redis = await openTestRedis();
  claims = new EventClaimStore(redis.client, RETENTION_MS);
});
afterAll(() => redis.close());

describe('EventClaimStore', () => {
  it('gives later claims of the same content the time of the first, open until it is marked as queued', async () => {
    const event = buildEvent({ acceptedAt: 1_000 });
    expect(await claims.claim(event, 'digest')(redis.client)).toEqual({ state: 'open', acceptedAt: 1_000 });
    expect(await claims.claim({ ...event, acceptedAt: 2_000 }, 'digest')(redis.client)).toEqual({
      state: 'open',
      acceptedAt: 1_000,
    });
    await claims.markQueued(event.accountId, event.id)(redis.client);
    expect(await claims.claim({ ...event, acceptedAt: 3_000 }, 'digest')(redis.client)).toEqual({
      state: 'queued',
      acceptedAt: 1_000,
    });
  });

  it('is taken for other content, queued or not', async () => {
    const event = buildEvent();
    await claims.claim(event, 'digest')(redis.client);
    expect(await claims.claim(event, 'other')(redis.client)).toEqual({ state: 'taken' });
    await claims.markQueued(event.accountId, event.id)(redis.client);
    expect(await claims.claim(event, 'other')(redis.client)).toEqual({ state: 'taken' });
  });

  it('lets one alone be the first to say that it is queued', async () => {
    const event = buildEvent();
    await claims.claim(event, 'digest')(redis.client);
    const said = await Promise.all(
      Array.from({ length: 20 }, () => claims.markQueued(event.accountId, event.id)(redis.client)),
    );
    expect(said.filter(Boolean)).toHaveLength(1);
  });

  it('knows an event that came in by the queue', async () => {
    const event = buildEvent();
    await new EventStore(redis.client, testRetention).save(event)(redis.client);
    expect(await claims.claim(event, 'digest')(redis.client)).toEqual({ state: 'stored' });
  });

  it('lets accounts use the same id', async () => {
    const event = buildEvent();
    await claims.claim(event, 'digest')(redis.client);
    expect(
      await claims.claim({ ...event, accountId: uniqueAccountId() }, 'other')(redis.client),
    ).toMatchObject({
      state: 'open',
    });
  });

  it('is kept for the retention, and not brought back by a late word that it is queued', async () => {
    const event = buildEvent();
    await claims.claim(event, 'digest')(redis.client);
    const key = keys.eventClaim(event.accountId, event.id);
    expect(await redis.client.pttl(key)).toBeGreaterThan(RETENTION_MS / 2);
    await redis.client.del(key);
    expect(await claims.markQueued(event.accountId, event.id)(redis.client)).toBe(false);
    expect(await redis.client.exists(key)).toBe(0);
  });

  it('is kept for the retention from when its event is due', async () => {
    const publishedAt = 1_700_000_000_000;
    const event = buildScheduledEvent({ deliverAt: publishedAt + 10 * RETENTION_MS });
    expect(await claims.claim(event, 'digest')(redis.client)).toEqual({
      state: 'open',
      acceptedAt: publishedAt,
    });
    const keptMs = await redis.client.pttl(keys.eventClaim(event.accountId, event.id));
    expect(keptMs).toBeGreaterThan(10.5 * RETENTION_MS);
    expect(keptMs).toBeLessThanOrEqual(11 * RETENTION_MS);
  });
});
