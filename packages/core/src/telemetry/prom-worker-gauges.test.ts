import { Registry } from 'prom-client';
import type { EndpointLimit } from '../deliver/flow/concurrency';
import type { AccountId } from '../domain/account';
import { signalSamples } from '../testing/signal-samples';
import { uniqueAccountId } from '../testing/unique-ids';
import { registerPromGauges } from './prom-gauges';
import { AccountShares, workerGauges } from './prom-worker-gauges';

describe('prom worker gauges', () => {
  const none = { quick: 0, slow: 0 };

  async function scrapeOf(limits: readonly EndpointLimit[]): Promise<string[]> {
    const registry = new Registry();
    registerPromGauges(registry, workerGauges, {
      slots: { inUse: none, allowed: none },
      concurrency: { limits: () => limits },
      shares: new AccountShares(() => 0),
    });
    const lines = (await registry.metrics()).split('\n');
    return lines.filter((line) => line.startsWith('webhooks_endpoint'));
  }

  describe('the limits of endpoints', () => {
    it('are shown by quantiles over the endpoints with running attempts, and how many have reached theirs', async () => {
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
});

describe('account shares', () => {
  function arrange() {
    const time = { now: 5_000_000 };
    const shares = new AccountShares(() => time.now);
    const attempt = (accountId: AccountId, count = 1) => {
      for (let i = 0; i < count; i += 1) shares.listen({ ...signalSamples['delivery.attempted'], accountId });
    };
    return { time, shares, attempt };
  }

  it('says which share of the attempts the largest account had, and the ten largest', () => {
    const { shares, attempt } = arrange();
    attempt(uniqueAccountId(), 60);
    for (let i = 0; i < 40; i += 1) attempt(uniqueAccountId());
    expect(shares.read()).toEqual({ largest: 0.6, tenLargest: 0.69 });
  });

  it('knows nothing before the first attempt, and forgets what is two minutes ago', () => {
    const { shares, attempt, time } = arrange();
    expect(shares.read()).toBeUndefined();
    attempt(uniqueAccountId());
    time.now += 60_000;
    expect(shares.read()).toEqual({ largest: 1, tenLargest: 1 });
    time.now += 60_000;
    expect(shares.read()).toBeUndefined();
  });

  it('adds up what it knows of an account over both minutes', () => {
    const { shares, attempt, time } = arrange();
    const account = uniqueAccountId();
    attempt(account, 2);
    time.now += 60_000;
    attempt(account, 1);
    attempt(uniqueAccountId(), 1);
    expect(shares.read()?.largest).toBe(0.75);
  });

  it('finds the largest among more accounts than it keeps in memory', () => {
    const { shares, attempt } = arrange();
    const large = uniqueAccountId();
    for (let i = 0; i < 3_000; i += 1) {
      attempt(uniqueAccountId());
      attempt(large);
    }
    expect(shares.read()?.largest).toBe(0.5);
  });
});
