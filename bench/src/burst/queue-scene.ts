import { Queue } from 'bullmq';
import { dataOf, EVENT_TYPE } from '../traffic/event-text';
import { type Scene, secondsSince } from './scene';
import { addAccount } from './world';

export interface QueueOptions {
  readonly events: number;
  readonly limitSeconds: number;
}

const CHUNK = 500;

/** A producer of the house pushes events straight onto the queue, past the API. */
export function queueScene({ events, limitSeconds }: QueueOptions): Scene {
  return {
    name: `${events} events pushed onto the queue`,

    async prepare(world) {
      const { receiver, redis } = world;
      await addAccount(world, 'pushed', receiver.urlOf('ok', 'pushed'));
      return async () => {
        const startedAt = performance.now();
        const queue = new Queue('events', { connection: { url: redis.url } });
        for (let start = 0; start < events; start += CHUNK) {
          const numbers = Array.from({ length: Math.min(CHUNK, events - start) }, (_, i) => start + i);
          await queue.addBulk(
            numbers.map((event) => ({
              name: EVENT_TYPE,
              data: { account_id: 'pushed', type: EVENT_TYPE, data: dataOf(event) },
            })),
          );
        }
        await queue.close();
        const pushedInS = secondsSince(startedAt);
        await receiver.waitFor('pushed', events, limitSeconds * 1_000);
        const received = await receiver.count('pushed');
        return { pushed_in_s: pushedInS, received, received_per_s: received / secondsSince(startedAt) };
      };
    },
  };
}
