import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import type { Webhook } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';

const AT_ONCE = 500;
const CONCURRENCY = 4;
// What is under way when a delivery is added or a request arrives may come before it.
const SLACK = 5 * CONCURRENCY;

let stack: Stack;
let receiver: Receiver;
beforeAll(async () => {
  stack = await Stack.start({ workers: 0, environment: { WORKER_CONCURRENCY: String(CONCURRENCY) } });
});
afterAll(() => stack.stop());
beforeEach(async () => {
  receiver = await Receiver.start();
});
afterEach(async () => {
  await stack.stopWorkers();
  await receiver.stop();
});

/** A new account with endpoints at paths that end with its id. */
async function openAccount(
  name: string,
  { ordering = 'none', weight, webhooks = 1 }: { ordering?: string; weight?: number; webhooks?: number } = {},
) {
  const { client } = stack;
  const id = `${name}-${randomUUID()}`;
  const headers = { 'x-account-id': id };
  await client.expect(201, 'POST', '/v1/accounts', { id });
  if (weight !== undefined) await client.expect(200, 'PATCH', `/v1/accounts/${id}`, { weight });
  for (let i = 0; i < webhooks; i += 1) {
    const url = `${receiver.url}/${i}/${id}`;
    await client.expect<Webhook>(201, 'POST', '/v1/webhooks', { url, events: ['*'], ordering }, headers);
  }
  return {
    id,
    /** Gives the events' ids. */
    async publish(count: number): Promise<readonly string[]> {
      const ids: string[] = [];
      while (ids.length < count) {
        const events = Array.from({ length: Math.min(AT_ONCE, count - ids.length) }, () => QUICK_WIN);
        const { body } = await client.expect<{ data: { id: string }[] }>(
          207,
          'POST',
          '/v1/events/batch',
          { events },
          headers,
        );
        ids.push(...body.data.map((outcome) => outcome.id));
      }
      return ids;
    },
    /** Ids of the events of its requests, in the order in which they came. */
    arrivals: () =>
      receiver.requests.flatMap(({ path, headers: sent }) =>
        path.endsWith(`/${id}`) ? [String(sent['webhook-id'])] : [],
      ),
    /** Which of all requests each of its own is. */
    ranks: () => receiver.requests.flatMap(({ path }, rank) => (path.endsWith(`/${id}`) ? [rank] : [])),
  };
}

it('a burst of one account keeps no other account waiting: its deliveries are among the first', async () => {
  const [burst, other] = [await openAccount('burst'), await openAccount('other')];
  await burst.publish(400);
  const published = await other.publish(10);
  await stack.startWorker();
  await receiver.waitFor(410);

  expect(other.arrivals().toSorted()).toEqual(published.toSorted());
  for (const [index, rank] of other.ranks().entries()) expect(rank).toBeLessThanOrEqual(2 * index + SLACK);
  expect(new Set(burst.arrivals()).size).toBe(400);
});

it('what is published while the burst is under way goes next as well', async () => {
  const [burst, other] = [await openAccount('burst'), await openAccount('other')];
  await burst.publish(400);
  await stack.startWorker();
  await receiver.waitFor(100);
  await other.publish(1);
  // What came while the event was on its way to the API came before it.
  const before = receiver.requests.length;
  await receiver.waitFor(401);
  expect(other.ranks()).toHaveLength(1);
  expect(Math.max(...other.ranks())).toBeLessThanOrEqual(before + SLACK);
});

it('accounts get as their weights say, which an operator changes', async () => {
  // So many that the worker is the limit, and not what each webhook may have under way.
  const webhooks = 2 * CONCURRENCY;
  const heavy = await openAccount('heavy', { weight: 10, webhooks });
  const usual = await openAccount('usual', { webhooks });
  await usual.publish(200 / webhooks);
  await heavy.publish(752 / webhooks);
  await stack.startWorker();
  await receiver.waitFor(550);

  const share = heavy.ranks().filter((rank) => rank < 550).length;
  expect(Math.abs(share - 500)).toBeLessThanOrEqual(30);
  await receiver.waitFor(952);
});

it('events that a producer pushes by the hundred keep no other account’s waiting', async () => {
  const [burst, other] = [await openAccount('burst'), await openAccount('other')];
  const events = new Queue('events', { connection: stack.redis.client });
  const push = (accountId: string, count: number) =>
    events.addBulk(
      Array.from({ length: count }, () => ({
        name: QUICK_WIN.type,
        data: { account_id: accountId, ...QUICK_WIN },
      })),
    );
  await push(burst.id, 500);
  await push(other.id, 10);
  await stack.startWorker();
  await receiver.waitFor(510);
  await events.close();

  expect(other.ranks()).toHaveLength(10);
  // A fan-out takes 32 at once as they come before it sorts what waits.
  expect(Math.max(...other.ranks())).toBeLessThanOrEqual(3 * 32 + 2 * 10 + SLACK);
  expect(new Set(burst.arrivals()).size).toBe(500);
});

it('one at a time, in their order, go the deliveries of an endpoint that wants them so, beside a burst', async () => {
  const burst = await openAccount('burst');
  const strict = await openAccount('strict', { ordering: 'strict' });
  const first = await strict.publish(10);
  await burst.publish(500);
  const second = await strict.publish(10);
  await stack.startWorker();
  await receiver.waitFor(520);

  expect(strict.arrivals()).toEqual([...first, ...second]);
  expect(new Set(burst.arrivals()).size).toBe(500);
  // One begins when the one before it has ended: on a busy machine, many of the burst go meanwhile. In the
  // order of their acceptance, the second ten would be behind all of it.
  expect(Math.max(...strict.ranks())).toBeLessThan(450);
});
