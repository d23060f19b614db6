import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { type Contender, ENDPOINTS, EVENT_TYPE, type Load, sampleData } from './contender';

const CHUNK = 500;

export const plainContender: Contender = {
  name: 'plain worker',
  script: join(__dirname, 'plain-worker.js'),

  async fill({ redis, receiverUrl, deliveries }: Load) {
    for (let i = 0; i < ENDPOINTS; i += 1) {
      const secret = `whsec_${randomBytes(32).toString('base64')}`;
      await redis.hset(`endpoint:${i}`, { url: receiverUrl, secret });
    }
    const queue = new Queue('deliveries', { connection: redis });
    for (let start = 0; start < deliveries; start += CHUNK) {
      const numbers = Array.from({ length: Math.min(CHUNK, deliveries - start) }, (_, i) => start + i);
      await queue.addBulk(
        numbers.map((i) => ({
          name: 'deliver',
          data: { endpointId: String(i % ENDPOINTS), type: EVENT_TYPE, data: sampleData(i) },
          opts: { attempts: 10, backoff: { type: 'exponential', delay: 5_000 } },
        })),
      );
    }
    await queue.close();
  },
};
