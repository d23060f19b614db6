import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';

const LIMIT = 10;
const EVENTS = 60;

it('lets no more arrive within any second than an endpoint asked for, and holds up nobody else', async () => {
  const limited = await Receiver.start();
  const unlimited = await Receiver.start();
  const client = await openAccount();
  await client.register(limited.url, ['*'], { rate_limit: LIMIT });
  await client.register(unlimited.url);
  const published = Array.from({ length: EVENTS }, () => client.publish(QUICK_WIN.type, QUICK_WIN.data));
  const eventIds = await Promise.all(published);

  await unlimited.waitFor(EVENTS);
  expect(limited.requests.length).toBeLessThan(EVENTS);
  await limited.waitFor(EVENTS);
  expect(idsOf(limited)).toEqual(eventIds.toSorted());

  const times = limited.requests.map(({ receivedAt }) => receivedAt).toSorted((a, b) => a - b);
  const untilOneTooMany = times.slice(LIMIT).map((time, index) => time - (times[index] ?? 0));
  expect(Math.min(...untilOneTooMany)).toBeGreaterThanOrEqual(1_000);
  await Promise.all([limited.stop(), unlimited.stop()]);
});

function idsOf(receiver: Receiver): string[] {
  return receiver.requests.map(({ headers }) => String(headers['webhook-id'])).toSorted();
}
