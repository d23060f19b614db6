import { Registry } from 'prom-client';
import { registerPromArchiveBacklog } from './prom-archive-backlog';

function buildRegistry(count: () => Promise<number>): Registry {
  const registry = new Registry();
  registerPromArchiveBacklog(registry, { count });
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
  expect(await samplesOf(registry)).toEqual(['webhooks_archive_backlog 7']);
  expect(await samplesOf(registry)).toEqual(['webhooks_archive_backlog 0']);
  expect(await samplesOf(registry)).toEqual([]);
});

it('answers the scrape without it when Redis does not answer', async () => {
  expect(await samplesOf(buildRegistry(() => new Promise<never>(() => {})))).toEqual([]);
});
