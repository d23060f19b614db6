import { disabledReasons, type Endpoint } from '../domain/endpoint';
import { systemClock } from '../platform/clock';
import { sealingKeysSchema } from '../platform/sealing-key';
import { buildEndpoint } from '../testing/build-endpoint';
import { createClosables } from '../testing/closables';
import { fake } from '../testing/fake';
import { openTestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { asDisabled, asEnabled, hasFailedForTooLong, updateTime } from './disable';
import { EndpointHealth, type EndpointHealthParts } from './health/endpoint-health';
import { EndpointStore } from './redis-endpoint-store';
import { DisabledEndpoints } from './redis-stopped-endpoints';
import { Sealer } from './seal';

describe('disable policy', () => {
  const HOUR = 3_600_000;
  const DAY = 24 * HOUR;
  const NOW = 1_700_000_000_000;
  const POLICY = { afterMs: 5 * DAY, failureSpanMs: 12 * HOUR };

  describe('hasFailedForTooLong', () => {
    it.each([
      ['the last success was 5 days ago', { lastSuccessAgo: 5 * DAY, failingFor: 4 * DAY }, true],
      ['the last success was a little less ago', { lastSuccessAgo: 5 * DAY - 1, failingFor: 4 * DAY }, false],
      ['there never was one', { enabledAgo: 5 * DAY, failingFor: 4 * DAY }, true],
      [
        'it was enabled a little less than 5 days ago',
        { enabledAgo: 5 * DAY - 1, failingFor: 4 * DAY },
        false,
      ],
      [
        'it was enabled after its last success',
        { enabledAgo: DAY, lastSuccessAgo: 9 * DAY, failingFor: DAY },
        false,
      ],
      ['its failures are 12 hours apart', { lastSuccessAgo: 9 * DAY, failingFor: 12 * HOUR }, true],
      ['they are a little less apart', { lastSuccessAgo: 9 * DAY, failingFor: 12 * HOUR - 1 }, false],
      ['this is the first of them', { lastSuccessAgo: 9 * DAY, failingFor: 0 }, false],
      [
        'they were recorded before the last success, and it is 5 days ago',
        { lastSuccessAgo: 5 * DAY, failingFor: 6 * DAY },
        true,
      ],
      [
        'they were recorded before the last success, which was yesterday',
        { lastSuccessAgo: DAY, failingFor: 6 * DAY },
        false,
      ],
    ])('when %s', (_when, { enabledAgo = 100 * DAY, lastSuccessAgo, failingFor }: Ago, expected) => {
      expect(
        hasFailedForTooLong(POLICY, {
          enabledAt: NOW - enabledAgo,
          lastSuccessAt: lastSuccessAgo === undefined ? undefined : NOW - lastSuccessAgo,
          failingSince: NOW - failingFor,
          now: NOW,
        }),
      ).toBe(expected);
    });
  });

  interface Ago {
    readonly enabledAgo?: number;
    readonly lastSuccessAgo?: number;
    readonly failingFor: number;
  }
});

describe('change status', () => {
  const NOW = 1_700_000_060_000;

  describe('asDisabled', () => {
    it.each(disabledReasons)('says why: %s', (reason) => {
      const endpoint = buildEndpoint();
      expect(asDisabled(endpoint, reason, NOW)).toEqual({
        ...endpoint,
        status: 'disabled',
        disabledReason: reason,
        updatedAt: NOW,
      });
    });

    it('changes nothing of one that is disabled, so that it keeps its first reason', () => {
      const endpoint = buildEndpoint({ status: 'disabled', disabledReason: 'gone' });
      expect(asDisabled(endpoint, 'client', NOW)).toEqual(endpoint);
    });
  });

  describe('asEnabled', () => {
    it('leaves no reason behind, and says since when', () => {
      const endpoint = buildEndpoint();
      const disabled = asDisabled(endpoint, 'gone', NOW);
      expect(asEnabled(disabled, NOW + 5)).toEqual({
        ...endpoint,
        enabledAt: NOW + 5,
        updatedAt: NOW + 5,
      });
    });

    it('changes nothing of one that is enabled', () => {
      const endpoint = buildEndpoint();
      expect(asEnabled(endpoint, NOW)).toEqual(endpoint);
    });
  });

  describe('updateTime', () => {
    it.each([
      [NOW, NOW - 1, NOW],
      [NOW, NOW, NOW + 1],
      [NOW, NOW + 9, NOW + 10],
    ])('at %i, of one changed at %i, is %i', (now, updatedAt, expected) => {
      expect(updateTime(buildEndpoint({ updatedAt }), now)).toBe(expected);
    });
  });
});

const countDisabled = (parts: Partial<EndpointHealthParts>) =>
  new EndpointHealth(fake<EndpointHealthParts>(parts)).countDisabled();

describe('count disabled', () => {
  const { willClose, closeAll } = createClosables();
  afterEach(closeAll);

  async function arrange() {
    const redis = willClose(await openTestRedis());
    const endpointStore = new EndpointStore(redis.client, testSealer);
    const disabledEndpoints = new DisabledEndpoints(redis.client);
    const endpoint = buildEndpoint();
    const { accountId, id } = endpoint;
    await endpointStore.create(endpoint);
    const change = (to: (endpoint: Endpoint) => Endpoint) => endpointStore.update(accountId, id, to);
    return {
      redis,
      endpointStore,
      disabledEndpoints,
      endpoint,
      count: () => countDisabled({ disabledEndpoints, endpointStore }),
      disable: () => change((each) => asDisabled(each, 'client', systemClock())),
      enable: () => change((each) => asEnabled(each, systemClock())),
      rename: () => change((each) => ({ ...each, description: 'new', updatedAt: each.updatedAt + 10 })),
      remove: () => endpointStore.remove(accountId, id),
    };
  }

  it('counts an endpoint from when it is disabled until it is enabled', async () => {
    const { count, disable, rename, enable } = await arrange();
    expect(await count()).toBe(0);
    await disable();
    await disable();
    expect(await count()).toBe(1);
    await rename();
    await enable();
    expect(await count()).toBe(0);
  });

  it('counts one that is disabled from its beginning, and none that is gone', async () => {
    const { count, endpointStore, disable, remove } = await arrange();
    const other = buildEndpoint({ status: 'disabled' });
    await endpointStore.create(other);
    await disable();
    expect(await count()).toBe(2);
    await remove();
    expect(await count()).toBe(1);
  });

  it('finds counted ones whose process died before they were disabled', async () => {
    const { count, disabledEndpoints, endpoint } = await arrange();
    await disabledEndpoints.enter(endpoint);
    expect(await count()).toBe(0);
  });

  it('goes on counting one whose secrets nobody can read, and the others with it', async () => {
    const { disable, redis, disabledEndpoints } = await arrange();
    await disable();
    const other = new Sealer(sealingKeysSchema.parse(Buffer.alloc(32, 'other').toString('base64')));
    const endpointStore = new EndpointStore(redis.client, other);
    expect(await countDisabled({ disabledEndpoints, endpointStore })).toBe(1);
  });

  it('goes on counting one that was disabled again by the time that another process has counted it as enabled', async () => {
    const { count, disable, enable, disabledEndpoints, endpoint } = await arrange();
    const first = await disable();
    await enable();
    await disable();
    await disabledEndpoints.leave(endpoint.accountId, endpoint.id, first?.updatedAt ?? 0);
    expect(await count()).toBe(1);
  });
});
