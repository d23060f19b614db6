import type { Endpoint } from '../../domain/endpoint';
import { systemClock } from '../../platform/clock';
import { sealingKeysSchema } from '../../platform/sealing-key';
import { buildEndpoint } from '../../testing/build-endpoint';
import { createClosables } from '../../testing/closables';
import { fake } from '../../testing/fake';
import { openTestRedis } from '../../testing/test-redis';
import { testSealer } from '../../testing/test-sealer';
import { asDisabled, asEnabled } from '../disable';
import { EndpointStore } from '../redis-endpoint-store';
import { DisabledEndpoints } from '../redis-stopped-endpoints';
import { Sealer } from '../seal';
import { EndpointHealth, type EndpointHealthParts } from './endpoint-health';

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
