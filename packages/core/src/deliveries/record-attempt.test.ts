import { readAttemptRow } from '../archive/attempt-row';
import { createRedisArchiveStream } from '../archive/redis-archive-stream';
import { keys } from '../redis/keys';
import { connectRedis } from '../redis/redis-connect';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEvent } from '../testing/build-event';
import { createClosables } from '../testing/closables';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { testRetention } from '../testing/test-retention';
import { uniqueEndpointId } from '../testing/unique-ids';
import type { Decision } from './decide-next';
import { readSummary } from './delivery-log';
import { createRecordAttempt } from './record-attempt';
import { createRedisDeliveryStore } from './redis-delivery-store';

const NOW = 1_700_000_060_000;

let redis: TestRedis;
beforeEach(async () => {
  redis = await openTestRedis();
});
afterEach(() => redis.close());
const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/** As a worker does it: all that is asked for within one turn of the event loop goes to Redis as one batch. */
function arrange({ isArchived = true } = {}) {
  const connection = {
    url: redis.url,
    role: 'working',
    name: 'test',
    batched: true,
    emit: () => {},
  } as const;
  const client = connectRedis(connection);
  willClose({ close: () => client.disconnect() });
  const event = buildEvent();
  const { accountId, id: eventId } = event;
  const side = 'first' as const;
  const run = {
    accountId,
    eventId,
    endpointId: uniqueEndpointId(),
    side,
    wasReleased: false,
    lane: 'fast',
  } as const;
  const recordAttempt = createRecordAttempt({
    deliveryStore: createRedisDeliveryStore(client, testRetention),
    archiveStream: isArchived ? createRedisArchiveStream(client) : undefined,
    healthRecorder: { record: () => {} },
    clock: () => NOW,
  });
  return { recordAttempt, run, event, client };
}

it("has the event's type on record once, from the first attempt on", async () => {
  const { recordAttempt, run, event, client } = arrange();
  const retry = { kind: 'retry', delayMs: 1 } as const;
  await recordAttempt({ run, event }, buildAttempt({ number: 1 }), retry);
  await recordAttempt({ run, event }, buildAttempt({ number: 2 }), retry);
  const log = await client.get(keys.delivery(run.endpointId, run.eventId));
  expect(readSummary(log ?? '')).toMatchObject({ attemptCount: 2, eventType: event.type });
  expect(log?.split(event.type)).toHaveLength(2);
});

it.each<[Decision, object]>([
  [
    { kind: 'retry', delayMs: 5_000 },
    { status: 'pending', next_attempt_at: '2023-11-14T22:14:25.000Z' },
  ],
  [{ kind: 'exhausted' }, { status: 'exhausted', next_attempt_at: null }],
  [{ kind: 'aborted' }, { status: 'aborted', next_attempt_at: null }],
  [{ kind: 'stays_delivered' }, { status: 'delivered', next_attempt_at: null }],
])(
  'hands on a failed attempt to the archive, with what became of its delivery: %j',
  async (decision, expected) => {
    const { recordAttempt, run, event } = arrange();
    await recordAttempt({ run, event }, buildAttempt({ responseBody: 'oh' }), decision);
    const [[, fields] = ['', []]] = await redis.client.xrange(keys.attemptsToArchive, '-', '+');
    expect(readAttemptRow(fields)).toMatchObject({
      account_id: run.accountId,
      event_id: run.eventId,
      webhook_id: run.endpointId,
      type: event.type,
      number: 1,
      outcome: 'http_5xx',
      response_body: 'oh',
      ...expected,
    });
  },
);

it('has an attempt on its way to the archive before it is on record', async () => {
  const { recordAttempt, run, event, client } = arrange();
  await client.ping();
  const commands: string[] = [];
  const { sendCommand } = client;
  client.sendCommand = function noted(this: typeof client, ...given: Parameters<typeof sendCommand>) {
    commands.push(given[0].name);
    return Reflect.apply(sendCommand, this, given) as ReturnType<typeof sendCommand>;
  };
  for (const number of [1, 2]) {
    await recordAttempt({ run, event }, buildAcceptedAttempt({ number }), { kind: 'delivered' });
  }
  const writes = commands.filter((command) => ['xadd', 'set', 'eval'].includes(command));
  expect(writes).toEqual(['xadd', 'set', 'xadd', 'set', 'eval']);
});

it('hands on nothing when there is no archive', async () => {
  const { recordAttempt, run, event } = arrange({ isArchived: false });
  await recordAttempt({ run, event }, buildAcceptedAttempt(), { kind: 'delivered' });
  expect(await redis.client.exists(keys.attemptsToArchive)).toBe(0);
});

it('has an attempt on record that could not be handed on, and says what the archive still has to get', async () => {
  const { recordAttempt, run, event, client } = arrange();
  await client.set(keys.attemptsToArchive, 'no stream');
  const attempt = buildAttempt();
  const recorded = await recordAttempt({ run, event }, attempt, { kind: 'retry', delayMs: 5_000 });
  expect(recorded).toMatchObject({
    nextAttemptAt: NOW + 5_000,
    unarchived: { eventId: run.eventId, endpointId: run.endpointId, status: 'pending', fact: { attempt } },
  });
  expect(await client.get(keys.delivery(run.endpointId, run.eventId))).not.toBeNull();
});

it('rejects when the record can not be written, also when the attempt could not be handed on either', async () => {
  const { recordAttempt, run, event, client } = arrange();
  await client.set(keys.attemptsToArchive, 'no stream');
  await client.rpush(keys.delivery(run.endpointId, run.eventId), 'no log');
  const recording = recordAttempt({ run, event }, buildAcceptedAttempt(), { kind: 'delivered' });
  await expect(recording).rejects.toThrow('WRONGTYPE');
});
