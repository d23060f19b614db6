import { Registry } from 'prom-client';
import type { EndpointLimit } from '../admission/concurrency';
import { registerPromWorkerGauges } from './prom-worker-gauges';

const none = { quick: 0, slow: 0 };

async function scrapeOf(limits: readonly EndpointLimit[]): Promise<string[]> {
  const registry = new Registry();
  registerPromWorkerGauges(registry, {
    slots: { inUse: none, allowed: none },
    readLimits: () => limits,
    largestShares: () => undefined,
  });
  const lines = (await registry.metrics()).split('\n');
  return lines.filter((line) => line.startsWith('webhooks_endpoint'));
}

describe('the limits of endpoints', () => {
  it('are shown by quantiles over those that have attempts under way, and how many have reached theirs', async () => {
    const limits = [64, 1, 8, 2, 4, 16, 32, 2, 8, 8].map((limit) => ({
      limit,
      underWay: Math.min(limit, 8),
    }));
    expect(await scrapeOf(limits)).toEqual([
      'webhooks_endpoint_concurrency_limit{quantile="0.5"} 8',
      'webhooks_endpoint_concurrency_limit{quantile="0.9"} 32',
      'webhooks_endpoint_concurrency_limit{quantile="1"} 64',
      'webhooks_endpoints_at_limit 7',
    ]);
  });

  it('are missing while nothing is under way', async () => {
    expect(await scrapeOf([])).toEqual(['webhooks_endpoints_at_limit 0']);
  });
});
