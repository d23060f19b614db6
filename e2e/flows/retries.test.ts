import type { ApiClient } from '../support/api-client';
import { Receiver, type Reply } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const SCHEDULE_MS = [300, 500, 400];

const OPTIONS = { retry_schedule: SCHEDULE_MS.map((ms) => `${ms}ms`) };

let client: ApiClient;
beforeEach(async () => {
  client = await openAccount();
});

it('tries again after a 500, a refused connection and a 302, as scheduled, and ends with the 204', async () => {
  const replies: readonly Reply[] = [500, { status: 302, headers: { location: '/elsewhere' } }, 204];
  const receiver = await Receiver.start((_request, count) => replies[count - 1] ?? 500);
  const webhook = await client.register(receiver.url, ['*'], OPTIONS);
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);

  await receiver.waitFor(1);
  await receiver.stop();
  await until(async () => {
    const { attempts } = await client.readDelivery(`${eventId}.${webhook.id}`);
    return attempts.at(-1)?.outcome === 'connect_refused' ? true : undefined;
  });
  await receiver.listen();
  const delivery = await client.waitForStatus(webhook.id, eventId, 'delivered');

  expect(delivery.attempts.map(({ outcome }) => outcome)).toEqual([
    'http_5xx',
    'connect_refused',
    'http_3xx',
    'delivered',
  ]);
  expect(receiver.requests.map(({ path }) => path)).toEqual(['/hook', '/hook', '/hook']);
  const waits = waitsBetween(delivery.attempts);
  for (const [i, scheduledMs] of SCHEDULE_MS.entries()) expect(waits[i]).toBeGreaterThanOrEqual(scheduledMs);
  expect(await client.listDeliveries(webhook.id)).toMatchObject([
    { status: 'delivered', attempt_count: 4, next_attempt_at: null },
  ]);
  await receiver.stop();
});

it('keeps a delivery whose schedule ran out, listed as exhausted, with each attempt', async () => {
  const receiver = await Receiver.start(() => 503);
  const webhook = await client.register(receiver.url, ['*'], OPTIONS);
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);

  const delivery = await client.waitForStatus(webhook.id, eventId, 'exhausted');
  expect(delivery.attempts).toHaveLength(SCHEDULE_MS.length + 1);
  expect(delivery.attempts.every(({ outcome }) => outcome === 'http_5xx')).toBe(true);
  expect(delivery.next_attempt_at).toBeNull();
  expect(receiver.requests).toHaveLength(SCHEDULE_MS.length + 1);
  await receiver.stop();
});

it('does not come back before the time that the receiver asked for', async () => {
  const receiver = await Receiver.start((_request, count) =>
    count === 1 ? { status: 429, headers: { 'retry-after': '2' } } : 204,
  );
  const webhook = await client.register(receiver.url, ['*'], OPTIONS);
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);

  const delivery = await client.waitForStatus(webhook.id, eventId, 'delivered');
  expect(waitsBetween(delivery.attempts)[0]).toBeGreaterThanOrEqual(2_000);
  await receiver.stop();
});

/** From the end of each attempt to the start of the next one, in milliseconds. */
function waitsBetween(attempts: readonly { started_at: string; duration_ms: number }[]): number[] {
  return attempts.slice(1).map((attempt, i) => {
    const before = attempts[i];
    if (!before) throw new Error('There is an attempt before each but the first.');
    return Date.parse(attempt.started_at) - Date.parse(before.started_at) - before.duration_ms;
  });
}

it('cancels what is still open when the retention is over, and lists it with its attempts', async () => {
  // What is cancelled is shown for as long again.
  const stack = await Stack.start({ environment: { RETENTION: '12s', RETRY_SCHEDULE: '1h' } });
  const receiver = await Receiver.start(() => 500);
  const tooLong = { url: receiver.url, events: ['*'], retry_schedule: ['15s'] };
  const { body: refusal } = await stack.client.expect<object>(422, 'POST', '/v1/webhooks', tooLong);
  expect(refusal).toMatchObject({
    errors: [{ pointer: '/retry_schedule', detail: expect.stringContaining('within 12s (RETENTION)') }],
  });

  const failing = await stack.client.register(receiver.url);
  const disabled = await stack.client.register(receiver.url);
  await stack.client.expect(200, 'POST', `/v1/webhooks/${disabled.id}/disable`);
  const eventId = await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const [retried, held] = await Promise.all(
    [failing, disabled].map(({ id }) => stack.client.waitForStatus(id, eventId, 'cancelled')),
  );
  expect(retried).toMatchObject({ attempts: [{ number: 1, outcome: 'http_5xx' }], next_attempt_at: null });
  expect(held?.attempts).toEqual([]);
  await stack.client.expect(200, 'GET', `/v1/events/${eventId}`);
  await Promise.all([receiver.stop(), stack.stop()]);
});
