import { join } from 'node:path';
import type { AccountId } from '@hookferry/core/domain/account';
import { createRedisEndpointStore } from '@hookferry/core/endpoints/redis-endpoint-store';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';
import { testSealer } from '@hookferry/core/testing/test-sealer';
import { createEventPublisher } from '@hookferry/producer';
import { type Contender, dataOf, EVENT_TYPE } from './contender';

/** An account for each endpoint, so that each event makes one delivery. */
export const serviceContender: Contender = {
  name: 'this service',
  script: join(__dirname, '../../../apps/worker/dist/main.js'),

  async prepare(redis, urls) {
    const store = createRedisEndpointStore(redis, testSealer);
    for (const [i, url] of urls.entries())
      await store.create(buildEndpoint({ accountId: accountOf(i), url }));
    const publisher = createEventPublisher({ connection: redis });
    return {
      async publish(endpoint, event) {
        await publisher.publish({
          accountId: accountOf(endpoint),
          type: EVENT_TYPE,
          data: dataOf(event),
        });
      },
      close: () => publisher.close(),
    };
  },
};

function accountOf(endpoint: number): AccountId {
  return `account-${endpoint}` as AccountId;
}
