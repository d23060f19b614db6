import { Registry } from 'prom-client';
import { gaugeDefinition, registerPromGauge, type Sample } from './prom-gauges';

async function scrapeOf(registry: Registry): Promise<string[]> {
  const lines = (await registry.metrics()).split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

const wait = { labels: { state: 'wait' }, value: 7 };
const failed = { labels: { state: 'failed' }, value: 2 };

describe('registerPromGauge', () => {
  it('reads anew for each scrape, and shows nothing that is no longer there', async () => {
    const readings: Sample[][] = [[wait, failed], [failed], []];
    const registry = new Registry();
    const definition = gaugeDefinition('jobs', 'Jobs.', { state: ['wait', 'failed'] });
    registerPromGauge(registry, definition, async () => readings.shift() ?? []);
    expect(await scrapeOf(registry)).toEqual(['jobs{state="wait"} 7', 'jobs{state="failed"} 2']);
    expect(await scrapeOf(registry)).toEqual(['jobs{state="failed"} 2']);
    expect(await scrapeOf(registry)).toEqual([]);
  });

  it.each([
    ['can not be read', () => Promise.reject(new Error('gone'))],
    ['does not come', () => new Promise<never>(() => {})],
  ])('answers the scrape without what %s, and without what it was before', async (_what, fail) => {
    let read: () => Promise<readonly Sample[]> = async () => [{ labels: {}, value: 7 }];
    const registry = new Registry();
    registerPromGauge(registry, gaugeDefinition('jobs', 'Jobs.'), () => read());
    expect(await scrapeOf(registry)).toEqual(['jobs 7']);
    read = fail;
    expect(await scrapeOf(registry)).toEqual([]);
  });
});
