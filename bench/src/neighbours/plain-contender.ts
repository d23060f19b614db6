import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { type Contender, dataOf, EVENT_TYPE } from './contender';

export const plainContender: Contender = {
  name: 'plain worker',
  script: join(__dirname, '../drain/plain-worker.js'),

  async prepare(redis, urls) {
    for (const [i, url] of urls.entries()) {
      await redis.hset(`endpoint:${i}`, { url, secret: `whsec_${randomBytes(32).toString('base64')}` });
    }
    const queue = new Queue('deliveries', { connection: redis });
    return {
      async publish(endpoint, event) {
        const job = { endpointId: String(endpoint), type: EVENT_TYPE, data: dataOf(event) };
        await queue.add('deliver', job, { attempts: 10, backoff: { type: 'exponential', delay: 5_000 } });
      },
      close: () => queue.close(),
    };
  },
};
