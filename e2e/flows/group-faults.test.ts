import type { ApiClient } from '../support/api-client';
import { OF_LANES } from '../support/keys-of-lanes';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const ORDER = { ordering: 'group' };
const COALESCE = { ...ORDER, coalesce: { window_ms: 200 } };
const LATER = ['1h'];
// A job that was started so often fails for good.
const TOO_MANY_STARTS = 300_000;
const GROUPS = 1_000;
const BATCH = 100;

let stack: Stack;
let client: ApiClient;
let receiver: Receiver;
/** Events that the receiver refuses. */
let refused: Set<string>;
beforeAll(async () => {
  stack = await Stack.start({ workers: 2, environment: { JOB_LOCK_DURATION: '2s' } });
  client = stack.client;
});
beforeEach(async () => {
  refused = new Set();
  receiver = await Receiver.start(({ headers }) => (refused.has(String(headers['webhook-id'])) ? 500 : 204));
});
afterEach(async () => {
  const { body } = await client.expect<{ data: { id: string }[] }>(200, 'GET', '/v1/webhooks');
  for (const { id } of body.data) await client.expect(204, 'DELETE', `/v1/webhooks/${id}`);
  await receiver.stop();
});
afterAll(() => stack.stop());

async function register(options: object): Promise<string> {
  return (await client.register(receiver.url, ['*'], options)).id;
}

async function publish(group: string, more: object = {}): Promise<string> {
  const { body } = await client.expect<{ id: string }>(202, 'POST', '/v1/events', {
    ...QUICK_WIN,
    group,
    ...more,
  });
  return body.id;
}

async function publishMany(groups: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let at = 0; at < groups.length; at += BATCH) {
    const events = groups.slice(at, at + BATCH).map((group) => ({ ...QUICK_WIN, group }));
    const path = '/v1/events/batch';
    const { body } = await client.expect<{ data: { id: string }[] }>(207, 'POST', path, { events });
    ids.push(...body.data.map(({ id }) => id));
  }
  return ids;
}

/** The first event of a group fails, and is tried again in an hour. Others wait behind it. */
async function failFirst(webhookId: string, behind: number): Promise<readonly [string, ...string[]]> {
  const first = `first-${webhookId}`;
  refused.add(first);
  await publish('a', { id: first });
  await until(async () => {
    const { attempts } = await client.readDelivery(`${first}.${webhookId}`);
    return attempts?.length === 1 ? true : undefined;
  });
  const others: string[] = [];
  while (others.length < behind) others.push(await publish('a'));
  for (const id of others) await client.waitForStatus(webhookId, id, 'held');
  return [first, ...others];
}

const arrivals = () => receiver.requests.map(({ headers }) => String(headers['webhook-id']));
const keysLeft = async () => (await stack.redis.client.keys('*')).filter((key) => OF_LANES.test(key));

async function untilNothingIsLeft(): Promise<void> {
  await until(async () => ((await keysLeft()).length === 0 ? true : undefined));
}

it('lets a group go on at once when the payload of its first event is erased', async () => {
  const webhookId = await register({ ...ORDER, retry_schedule: LATER });
  const [first, second = ''] = await failFirst(webhookId, 1);
  await client.expect(204, 'DELETE', `/v1/events/${first}/payload`);
  await client.waitForStatus(webhookId, second, 'delivered');
  await client.waitForStatus(webhookId, first, 'cancelled');
  await untilNothingIsLeft();
  expect(arrivals()).toEqual([first, second]);
});

it('lets a strict order go on at once when the payload of its first event is erased', async () => {
  const webhookId = await register({ ordering: 'strict', retry_schedule: LATER });
  const [first, second = ''] = await failFirst(webhookId, 1);
  await client.expect(204, 'DELETE', `/v1/events/${first}/payload`);
  await client.waitForStatus(webhookId, second, 'delivered');
  await client.waitForStatus(webhookId, first, 'cancelled');
  expect(arrivals()).toEqual([first, second]);
});

it('goes on with a group whose job somebody has removed, with its next event', async () => {
  const webhookId = await register({ ...ORDER, retry_schedule: LATER });
  const [first, second = ''] = await failFirst(webhookId, 1);
  const [job = ''] = await stack.redis.client.zrange('bull:deliveries:delayed', '0', '-1');
  expect(job).toMatch(new RegExp(`^lane/.*[.]${webhookId}$`));
  await stack.redis.client.zrem('bull:deliveries:delayed', job);
  await stack.redis.client.del(`bull:deliveries:${job}`);

  refused.clear();
  const third = await publish('a');
  await until(async () => {
    const { status } = await client.request('POST', `/v1/deliveries/${first}.${webhookId}/redeliver`);
    return status === 202 ? true : undefined;
  });
  for (const id of [second, third]) await client.waitForStatus(webhookId, id, 'delivered');
  expect(arrivals()).toEqual([first, first, second, third]);
  await untilNothingIsLeft();
});

/** The first event of a group has failed for good: its job is a dead letter. Another one waits behind it. */
async function failForGood(webhookId: string) {
  const [first, second = ''] = await failFirst(webhookId, 1);
  const [job = ''] = await stack.redis.client.zrange('bull:deliveries:delayed', '0', '-1');
  await stack.redis.client.hset(`bull:deliveries:${job}`, 'ats', TOO_MANY_STARTS);
  await client.request('POST', `/v1/deliveries/${first}.${webhookId}/redeliver`);
  const deadLetter = `/v1/dead-letters/deliveries.${first}.${webhookId}`;
  await until(async () => ((await client.request('GET', deadLetter)).status === 200 ? true : undefined));
  refused.clear();
  return { first, second, deadLetter };
}

describe('a delivery of a group that has failed for good', () => {
  it('holds its group alone until it is retried', async () => {
    const webhookId = await register({ ...ORDER, retry_schedule: LATER });
    const { first, second, deadLetter } = await failForGood(webhookId);
    await client.waitForStatus(webhookId, await publish('b'), 'delivered');
    await until(async () => {
      const { hold } = await client.readDelivery(`${second}.${webhookId}`);
      return hold?.reason === 'ordering' ? true : undefined;
    });
    await client.expect(202, 'POST', `${deadLetter}/retry`);
    for (const id of [first, second]) await client.waitForStatus(webhookId, id, 'delivered');
    expect(arrivals().slice(-2)).toEqual([first, second]);
    await untilNothingIsLeft();
  });

  it.each([
    ['it is dropped', 'cancelled', ({ deadLetter }) => client.expect(204, 'DELETE', deadLetter)],
    [
      'the webhook keeps no order any more',
      'pending',
      ({ webhookId }) => client.expect(200, 'PATCH', `/v1/webhooks/${webhookId}`, { ordering: 'none' }),
    ],
  ] satisfies [string, string, (one: { deadLetter: string; webhookId: string }) => Promise<unknown>][])(
    'lets its group go on when %s',
    async (_name, status, act) => {
      const webhookId = await register({ ...ORDER, retry_schedule: LATER });
      const { first, second, deadLetter } = await failForGood(webhookId);
      await act({ deadLetter, webhookId });
      await client.waitForStatus(webhookId, second, 'delivered');
      expect((await client.readDelivery(`${first}.${webhookId}`)).status).toBe(status);
      await client.request('POST', `${deadLetter}/retry`);
      await untilNothingIsLeft();
    },
  );
});

it('lets nobody but the first of each group be the probe of an open breaker', async () => {
  const webhookId = await register({ ...ORDER, retry_schedule: ['1s', '1h'] });
  const failing = Array.from({ length: 5 }, (_, i) => `probe-${i}-${webhookId}`);
  for (const id of failing) refused.add(id);
  for (const id of failing) await publish(id, { id });
  await until(async () => {
    const { body } = await client.expect<{ data: { name: string }[] }>(200, 'GET', '/v1/webhooks');
    expect(body.data).toHaveLength(1);
    return arrivals().length >= failing.length ? true : undefined;
  });
  const behind: string[] = [];
  for (const id of failing) behind.push(await publish(id), await publish(id));
  const other = await publish('other');
  await client.waitForStatus(webhookId, other, 'delivered');
  refused.clear();
  for (const id of failing) await client.request('POST', `/v1/deliveries/${id}.${webhookId}/redeliver`);
  for (const id of behind) await client.waitForStatus(webhookId, id, 'delivered');
  for (const [i, id] of failing.entries()) {
    const own = [id, behind[2 * i], behind[2 * i + 1]];
    expect([...new Set(arrivals())].filter((each) => own.includes(each))).toEqual(own);
  }
  await untilNothingIsLeft();
});

it('ends what waits in groups when its webhook is deleted, and leaves nothing of them', async () => {
  const webhookId = await register({ ...ORDER, retry_schedule: LATER });
  const ids = await failFirst(webhookId, 3);
  await client.expect(204, 'DELETE', `/v1/webhooks/${webhookId}`);
  for (const id of ids.slice(1)) {
    await until(async () => {
      const { body } = await client.expect<{ deliveries: { cancelled: number } }>(
        200,
        'GET',
        `/v1/events/${id}`,
      );
      return body.deliveries.cancelled === 1 ? true : undefined;
    });
  }
  await untilNothingIsLeft();
  expect(arrivals()).toEqual([ids[0]]);
});

it('goes by another order from the moment that it is changed, and loses nothing that waits', async () => {
  const webhookId = await register({ ...ORDER, retry_schedule: LATER });
  const [first, ...behind] = await failFirst(webhookId, 3);
  await client.expect(200, 'PATCH', `/v1/webhooks/${webhookId}`, { ordering: 'none' });
  for (const id of behind) await client.waitForStatus(webhookId, id, 'delivered');
  await client.expect(200, 'PATCH', `/v1/webhooks/${webhookId}`, { ordering: 'strict' });
  await client.waitForStatus(webhookId, await publish('b'), 'delivered');
  await client.expect(200, 'PATCH', `/v1/webhooks/${webhookId}`, { ...COALESCE });
  await client.waitForStatus(webhookId, await publish('b'), 'delivered');
  expect(arrivals()).toEqual(expect.arrayContaining([first, ...behind]));
});

it('goes from groups to batches and back, and loses nothing that waits', async () => {
  const webhookId = await register(ORDER);
  const path = `/v1/webhooks/${webhookId}`;
  const batch = { max_events: 10, max_wait_ms: 60_000 };
  const groups = ['a', 'b', 'a', 'b', 'a'];
  const missed: (readonly string[])[] = [];
  for (const change of [{}, { ordering: 'none', batch }, { ...ORDER, batch: null }]) {
    await client.expect(200, 'PATCH', path, change);
    await client.expect(200, 'POST', `${path}/disable`);
    missed.push(await publishMany(groups));
    for (const id of missed.flat()) await client.waitForStatus(webhookId, id, 'held');
  }
  await client.expect(200, 'POST', `${path}/enable`);
  for (const id of missed.flat()) await client.waitForStatus(webhookId, id, 'delivered');
  for (const group of ['a', 'b']) {
    const own = missed.flatMap((ids) => ids.filter((_, i) => groups[i] === group));
    expect(arrivals().filter((id) => own.includes(id))).toEqual(own);
  }

  // These wait for more.
  await client.expect(200, 'PATCH', path, { ordering: 'none', batch });
  const few = await publishMany(['a', 'a', 'b']);
  await client.expect(200, 'PATCH', path, { ...ORDER, batch: null });
  for (const id of few) await client.waitForStatus(webhookId, id, 'delivered');
  await untilNothingIsLeft();
});

it('discards what waits in groups for full requests', async () => {
  const webhookId = await register({ ...ORDER, batch: { max_events: 10, max_wait_ms: 60_000 } });
  const path = `/v1/webhooks/${webhookId}`;
  const waiting = await publishMany(['a', 'a', 'a', 'b']);
  for (const id of waiting) await client.waitForStatus(webhookId, id, 'held');
  expect(await client.expect(200, 'GET', path)).toMatchObject({ body: { health: { held: 4 } } });
  expect(await client.expect(202, 'POST', `${path}/discard-held`)).toMatchObject({ body: { discarded: 4 } });
  for (const id of waiting) await client.waitForStatus(webhookId, id, 'cancelled');
  await untilNothingIsLeft();
  expect(arrivals()).toEqual([]);
});

it('sends all that wait when a webhook no longer asks for the newest alone, and the newest when it does', async () => {
  const webhookId = await register({ ...ORDER, retry_schedule: LATER });
  const [first, ...behind] = await failFirst(webhookId, 4);
  const path = `/v1/webhooks/${webhookId}`;
  await client.expect(200, 'PATCH', path, { coalesce: { window_ms: 50 } });
  await client.expect(200, 'PATCH', path, { coalesce: null });
  await client.expect(204, 'DELETE', `/v1/events/${first}/payload`);
  for (const id of behind) await client.waitForStatus(webhookId, id, 'delivered');

  await client.expect(200, 'POST', `${path}/disable`);
  const missed = await publishMany(Array.from({ length: 5 }, () => 'b'));
  for (const id of missed) await client.waitForStatus(webhookId, id, 'held');
  await client.expect(200, 'PATCH', path, { coalesce: { window_ms: 50 } });
  await client.expect(200, 'POST', `${path}/enable`);
  const newest = missed.at(-1) ?? '';
  await client.waitForStatus(webhookId, newest, 'delivered');
  for (const id of missed.slice(0, -1)) {
    const superseded = await client.waitForStatus(webhookId, id, 'superseded');
    expect(await client.readDelivery(superseded.id)).toMatchObject({ superseded_by: newest });
  }
  await untilNothingIsLeft();
});

it('sends the next newest when the newest of a group is erased within the window', async () => {
  const webhookId = await register({ ...ORDER, coalesce: { window_ms: 2_000 } });
  const [oldest = '', newer = '', newest = ''] = await publishMany(['a', 'a', 'a']);
  await client.expect(204, 'DELETE', `/v1/events/${newest}/payload`);
  await client.waitForStatus(webhookId, newest, 'cancelled');
  await client.waitForStatus(webhookId, newer, 'delivered');
  const superseded = await client.waitForStatus(webhookId, oldest, 'superseded');
  expect(await client.readDelivery(superseded.id)).toMatchObject({ superseded_by: newer });
  await untilNothingIsLeft();
});

it('sends the next newest when the code of the webhook cancels the newest of a group', async () => {
  const webhookId = await register({ ...ORDER, coalesce: { window_ms: 1_000 } });
  const code =
    'export default (event) => (event.id.startsWith("none") ? { cancel: true } : { body: event.data })';
  await client.expect(201, 'PUT', `/v1/webhooks/${webhookId}/transformation`, { code });
  const [older, newer, newest] = [await publish('a'), await publish('a'), `none-${webhookId}`];
  await publish('a', { id: newest });
  await client.waitForStatus(webhookId, newest, 'cancelled');
  await client.waitForStatus(webhookId, newer, 'delivered');
  const superseded = await client.waitForStatus(webhookId, older, 'superseded');
  expect(await client.readDelivery(superseded.id)).toMatchObject({ superseded_by: newer });
  await untilNothingIsLeft();
});

it('sends the next newest when the newest was about to be sent, was put off, and is then erased', async () => {
  const webhookId = await register({ ...ORDER, coalesce: { window_ms: 3_000 } });
  const [older = '', newer = '', newest = ''] = await publishMany(['a', 'a', 'a']);
  const { client: redis } = stack.redis;
  const lane = await until(async () => (await redis.keys(`bull:deliveries:lane/*.${webhookId}`))[0]);
  const [entries = ''] = await redis.keys(`lane:*.${webhookId}`);
  // As a worker leaves it that was killed, or had no access token.
  await redis.hset(lane, 'sent', `${await redis.zscore(entries, newest)} ${newest}`);
  await client.expect(204, 'DELETE', `/v1/events/${newest}/payload`);
  await client.waitForStatus(webhookId, newest, 'cancelled');
  await client.waitForStatus(webhookId, newer, 'delivered');
  const superseded = await client.waitForStatus(webhookId, older, 'superseded');
  expect(await client.readDelivery(superseded.id)).toMatchObject({ superseded_by: newer });
  await untilNothingIsLeft();
});

it('takes an event of a group that is sent later by when it is due', async () => {
  const webhookId = await register({ ...ORDER, retry_schedule: ['3s'] });
  const deliverAt = new Date(Date.now() + 1_500).toISOString();
  const later = await publish('a', { deliver_at: deliverAt });
  const first = `now-${webhookId}`;
  refused.add(first);
  await publish('a', { id: first });
  await until(async () =>
    (await client.readDelivery(`${first}.${webhookId}`)).attempts?.length ? true : undefined,
  );
  await client.waitForStatus(webhookId, later, 'held');
  const last = await publish('a');
  refused.clear();
  await client.waitForStatus(webhookId, last, 'delivered');
  expect(arrivals()).toEqual([first, first, later, last]);
});

it('leaves nothing in Redis of thousands of groups, also when a worker was killed in the middle', async () => {
  await register(ORDER);
  await register(COALESCE);
  const published = publishMany(Array.from({ length: GROUPS * 3 }, (_, i) => `order ${i % GROUPS}`));
  await receiver.waitFor(GROUPS / 2);
  await stack.workers[0]?.end('SIGKILL');
  await stack.startWorker();
  const ids = await published;
  await until(async () => {
    const { body } = await client.expect<{ deliveries: { delivered: number; superseded: number } }>(
      200,
      'GET',
      `/v1/events/${ids.at(-1)}`,
    );
    return body.deliveries.delivered === 2 ? true : undefined;
  });
  await untilNothingIsLeft();
  expect(new Set(arrivals())).toEqual(new Set(ids));
});

it.each(['group', 'strict'])('replays events in their order, with `ordering` %s', async (ordering) => {
  const webhookId = await register({ ordering });
  const since = new Date().toISOString();
  const ids = await publishMany(Array.from({ length: 60 }, (_, i) => `order ${i % 5}`));
  for (const id of ids) await client.waitForStatus(webhookId, id, 'delivered');
  receiver.requests.length = 0;
  await client.expect(202, 'POST', `/v1/webhooks/${webhookId}/replays`, { since, mode: 'all' });
  await until(async () => (receiver.requests.length >= ids.length ? true : undefined));
  const groups = ordering === 'strict' ? 1 : 5;
  for (let group = 0; group < groups; group += 1) {
    const own = ids.filter((_, i) => i % groups === group);
    expect(arrivals().filter((id) => own.includes(id))).toEqual(own);
  }
  await untilNothingIsLeft();
});
