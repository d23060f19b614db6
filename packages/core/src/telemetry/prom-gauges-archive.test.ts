import { Registry } from 'prom-client';
import { registerPromArchiveBacklog } from './prom-gauges';

const ASIDE = 'webhooks_archive_put_aside 3';

function buildRegistry(count: () => Promise<number>, countAside = async () => 3): Registry {
  const registry = new Registry();
  registerPromArchiveBacklog(registry, { count, countAside });
  return registry;
}

async function samplesOf(registry: Registry): Promise<string[]> {
  const lines = (await registry.metrics()).split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

it('counts anew for each scrape, and shows no old number when it can not', async () => {
  const counts = [7, 0];
  const registry = buildRegistry(async () => {
    const count = counts.shift();
    if (count === undefined) throw new Error('gone');
    return count;
  });
  expect(await samplesOf(registry)).toEqual(['webhooks_archive_backlog 7', ASIDE]);
  expect(await samplesOf(registry)).toEqual(['webhooks_archive_backlog 0', ASIDE]);
  expect(await samplesOf(registry)).toEqual([ASIDE]);
});

it('answers the scrape without them when Redis does not answer', async () => {
  const never = () => new Promise<never>(() => {});
  expect(await samplesOf(buildRegistry(never, never))).toEqual([]);
});
