import { MAX_OPEN_MS, PROBE_MS } from '../domain/breaker';
import { createClosables } from '../testing/closables';
import { openTestRedis } from '../testing/test-redis';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { OpenBreakers } from './redis-stopped-endpoints';

const NOW = 1_700_000_000_000;

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

function uniqueAddress() {
  return { accountId: uniqueAccountId(), endpointId: uniqueEndpointId() };
}

async function arrange() {
  const { client } = willClose(await openTestRedis());
  return { client, openBreakers: new OpenBreakers(client) };
}

it('counts a breaker once, however often it stays open, until it closes', async () => {
  const { openBreakers } = await arrange();
  const [one, other] = [uniqueAddress(), uniqueAddress()];
  await openBreakers.enter(one, NOW + 1_000, NOW);
  await openBreakers.enter(one, NOW + 3_000, NOW + 1_000);
  await openBreakers.enter(other, NOW + 1_000, NOW);
  expect(await openBreakers.count(NOW)).toBe(2);
  await openBreakers.leave(one);
  expect(await openBreakers.count(NOW)).toBe(1);
});

it('counts one that nobody has closed for as long as a probe may take, and no longer', async () => {
  const { openBreakers } = await arrange();
  await openBreakers.enter(uniqueAddress(), NOW + 1_000, NOW);
  expect(await openBreakers.count(NOW + 1_000 + PROBE_MS)).toBe(1);
  expect(await openBreakers.count(NOW + 1_001 + PROBE_MS)).toBe(0);
});

it('leaves nothing behind', async () => {
  const { openBreakers, client } = await arrange();
  await openBreakers.enter(uniqueAddress(), NOW, NOW);
  await openBreakers.enter(uniqueAddress(), NOW + 200_000, NOW + 100_000);
  expect(await client.zcard('open-breakers:{all}')).toBe(1);
  expect(await client.pttl('open-breakers:{all}')).toBeLessThanOrEqual(MAX_OPEN_MS + PROBE_MS);
});
