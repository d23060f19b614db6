import { AccountStore } from '../accounts/redis-account-store';
import type { EndpointId } from '../domain/endpoint';
import type { ReplayOrder } from '../domain/replay';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { newSecret } from '../endpoints/rotate-secret';
import { createNewId } from '../platform/ids';
import type { ReplayQueue } from '../queue/bullmq-work-queues';
import { ReplayStore } from '../replays/redis-replay-store';
import { Replays, type ReplaysParts } from '../replays/replays';
import { buildEndpoints } from '../testing/build-endpoints';
import { buildVerification } from '../testing/build-verification';
import { fake } from '../testing/fake';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { ASLEEP_MS, Listeners, LOST_MS, type NewListener } from './listeners';
import { ListenerStore } from './redis-listener-store';

const START = 1_700_000_000_000;
const NOT_FOUND = { code: 'not_found' };
const input: NewListener = { name: 'laptop', events: ['keyword.*'] };

let redis: TestRedis;
beforeAll(async () => {
  redis = await openTestRedis();
});
afterAll(() => redis.close());

async function arrange() {
  let now = START;
  const clock = () => now;
  const emit = () => {};
  const endpointStore = new EndpointStore(redis.client, testSealer);
  const accountStore = new AccountStore(redis.client);
  const replayStore = new ReplayStore(redis.client, 60_000);
  const listenerStore = new ListenerStore(redis.client);
  const accountId = uniqueAccountId();
  await accountStore.create({ id: accountId, createdAt: START });
  const ordered: ReplayOrder[] = [];
  let isQueueAway = false;
  const replayQueue = fake<ReplayQueue>({
    async add(order: ReplayOrder) {
      if (isQueueAway) throw new Error('no Redis');
      ordered.push(order);
    },
  });
  const endpoints = buildEndpoints(redis.client, {
    ...buildVerification(redis.client, 'required'),
    endpointStore,
    accountStore,
    clock,
    emit,
  });
  const newId = createNewId(clock);
  const replays = new Replays(fake<ReplaysParts>({ endpointStore, replayStore, replayQueue, clock, emit }));
  const context = { endpoints, endpointStore, listenerStore, replays, replayStore, newId, clock, emit };
  const listeners = new Listeners(context);
  const addressOf = (endpointId: EndpointId) => ({ accountId, endpointId });
  return {
    context,
    endpoints,
    listeners,
    listenerStore,
    ordered,
    accountId,
    create: async (change: Partial<NewListener> = {}) =>
      (await listeners.create(accountId, { ...input, ...change })).endpoint,
    async connect(id: EndpointId, stream: string) {
      await listenerStore.hold(id, { process: 'api', stream });
      await listeners.connect(addressOf(id), stream);
    },
    hangUp: (id: EndpointId, stream: string) => listeners.disconnect(addressOf(id), stream),
    die: (id: EndpointId, stream: string) => listenerStore.letGo(id, { process: 'api', stream }),
    wakeUp: (id: EndpointId) => listeners.handleOneDue(addressOf(id)),
    isDue: async (id: EndpointId) =>
      (await listenerStore.listDue(now, 1_000)).some(({ endpointId }) => endpointId === id),
    read: (id: EndpointId) => endpoints.read(accountId, id),
    addressOf,
    pass: (ms: number) => void (now += ms),
    setQueueAway: (to: boolean) => void (isQueueAway = to),
  };
}

it('holds what comes until it is connected, and from when it is lost', async () => {
  const { create, connect, hangUp, read } = await arrange();
  const { id, url } = await create();
  expect(url).toBe('https://laptop.listener.invalid/');
  expect(await read(id)).toMatchObject({ status: 'disabled', disabledReason: 'disconnected' });
  await connect(id, 'one');
  expect(await read(id)).toMatchObject({ status: 'enabled', events: ['keyword.*'] });
  await hangUp(id, 'one');
  expect(await read(id)).toMatchObject({ status: 'disabled', disabledReason: 'disconnected' });
});

it('is not lost when a stream ends whose place another one has taken', async () => {
  const { create, connect, hangUp, read } = await arrange();
  const { id } = await create();
  await connect(id, 'one');
  await connect(id, 'two');
  await hangUp(id, 'one');
  expect(await read(id)).toMatchObject({ status: 'enabled' });
});

it('is the same one when it is made again, with its secret and what is said of it now', async () => {
  const { create } = await arrange();
  const first = await create();
  const again = await create({ secret: newSecret(), ordering: 'strict', events: ['brief.created'] });
  expect(again).toMatchObject({
    id: first.id,
    secrets: first.secrets,
    ordering: 'strict',
    events: ['brief.created'],
  });
});

it('falls asleep a minute after it was lost: it gets no events, and is not there for clients', async () => {
  const { create, connect, hangUp, wakeUp, isDue, read, pass, endpoints, listeners, accountId, addressOf } =
    await arrange();
  const { id } = await create();
  await connect(id, 'one');
  await hangUp(id, 'one');
  pass(LOST_MS - 1);
  expect(await isDue(id)).toBe(false);
  pass(1);
  expect(await isDue(id)).toBe(true);
  await wakeUp(id);
  await expect(read(id)).rejects.toMatchObject(NOT_FOUND);
  await expect(endpoints.update(accountId, id, { events: ['*'] })).rejects.toMatchObject(NOT_FOUND);
  await expect(listeners.requireAwake(addressOf(id))).rejects.toMatchObject(NOT_FOUND);
  expect((await endpoints.list(accountId, {}, 10)).endpoints).toEqual([]);
});

it('is brought what it missed while it was asleep when somebody comes back', async () => {
  const { create, connect, hangUp, wakeUp, read, pass, ordered } = await arrange();
  const { id } = await create();
  await connect(id, 'one');
  pass(5_000);
  await hangUp(id, 'one');
  pass(LOST_MS);
  await wakeUp(id);
  pass(600_000);
  expect((await create()).id).toBe(id);
  expect(ordered).toMatchObject([{ endpointId: id, mode: 'missing', since: START + 5_000, isDryRun: false }]);
  expect(await read(id)).toMatchObject({ events: ['keyword.*'], status: 'disabled' });
  // Once.
  await create();
  expect(ordered.length).toBe(1);
});

it('still knows what it missed when its return breaks off before a replay is queued', async () => {
  const { create, wakeUp, pass, ordered, setQueueAway } = await arrange();
  const { id } = await create();
  pass(LOST_MS);
  await wakeUp(id);
  setQueueAway(true);
  await expect(create()).rejects.toThrow('no Redis');
  setQueueAway(false);
  pass(60_000);
  await create();
  expect(ordered).toMatchObject([{ endpointId: id, since: START }]);
});

it('is brought what was published before it was there, if that is asked for', async () => {
  const { create, ordered } = await arrange();
  const { id } = await create({ since: START - 600_000 });
  expect(ordered).toMatchObject([{ endpointId: id, mode: 'missing', since: START - 600_000 }]);
});

it('is lost when the process that has it dies, and removed a day after it fell asleep', async () => {
  const { create, connect, die, wakeUp, isDue, read, pass, listenerStore, accountId } = await arrange();
  const { id } = await create();
  await connect(id, 'one');
  pass(15_000);
  await wakeUp(id);
  expect(await read(id)).toMatchObject({ status: 'enabled' });
  await die(id, 'one');
  pass(15_000);
  expect(await isDue(id)).toBe(true);
  await wakeUp(id);
  expect(await read(id)).toMatchObject({ status: 'disabled', disabledReason: 'disconnected' });
  pass(LOST_MS);
  await wakeUp(id);
  pass(ASLEEP_MS);
  expect(await isDue(id)).toBe(true);
  await wakeUp(id);
  expect(await isDue(id)).toBe(false);
  await expect(listenerStore.listDue(START + 10 * ASLEEP_MS, 1_000)).resolves.not.toContainEqual({
    accountId,
    endpointId: id,
  });
});

it('leaves a webhook alone that has the name, and cannot be enabled while nobody is connected', async () => {
  const { create, endpoints, accountId } = await arrange();
  const { id } = await create();
  await expect(endpoints.enable(accountId, id)).rejects.toMatchObject({ code: 'conflict' });
  const uid = 'listener.other' as never;
  await endpoints.create(accountId, { url: 'https://example.com/', events: ['*'], uid }, uniqueEndpointId());
  await expect(create({ name: 'other' })).rejects.toMatchObject({ code: 'conflict' });
});
