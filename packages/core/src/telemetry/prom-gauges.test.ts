import { Registry } from 'prom-client';
import { gauge, registerPromGauges, type Sample } from './prom-gauges';

async function scrapeOf(registry: Registry): Promise<string[]> {
  const lines = (await registry.metrics()).split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

const wait = { labels: { state: 'wait' }, value: 7 };
const failed = { labels: { state: 'failed' }, value: 2 };

describe('registerPromGauges', () => {
  it('reads again for each scrape, and shows nothing that is no longer there', async () => {
    const readings: Sample[][] = [[wait, failed], [failed], []];
    const registry = new Registry();
    const jobs = gauge({
      name: 'jobs',
      help: 'Jobs.',
      labels: { state: ['wait', 'failed'] },
      read: async () => readings.shift() ?? [],
    });
    registerPromGauges(registry, [jobs], undefined);
    expect(await scrapeOf(registry)).toEqual(['jobs{state="wait"} 7', 'jobs{state="failed"} 2']);
    expect(await scrapeOf(registry)).toEqual(['jobs{state="failed"} 2']);
    expect(await scrapeOf(registry)).toEqual([]);
  });

  it.each([
    ['can not be read', () => Promise.reject(new Error('gone'))],
    ['does not come', () => new Promise<never>(() => {})],
  ])('answers the scrape without what %s, and without what it was before', async (_what, fail) => {
    let read: () => Promise<number> = async () => 7;
    const registry = new Registry();
    registerPromGauges(registry, [gauge({ name: 'jobs', help: 'Jobs.', read: () => read() })], undefined);
    expect(await scrapeOf(registry)).toEqual(['jobs 7']);
    read = fail;
    expect(await scrapeOf(registry)).toEqual([]);
  });
});
