import { Queue } from 'bullmq';
import { dataOf, EVENT_TYPE, micros } from './events';

export interface Pushing {
  readonly redisUrl: string;
  readonly accountId: string;
  readonly firstEvent: number;
  readonly events: number;
}

const CHUNK = 500;

/**
 * A producer of the house pushes events straight onto the queue, past the API.
 * @returns when each was sent, in microseconds of `micros()`
 */
export async function pushEvents({
  redisUrl,
  accountId,
  firstEvent,
  events,
}: Pushing): Promise<readonly number[]> {
  const queue = new Queue('events', { connection: { url: redisUrl } });
  const sentAt: number[] = [];
  for (let start = 0; start < events; start += CHUNK) {
    const numbers = Array.from({ length: Math.min(CHUNK, events - start) }, (_, i) => firstEvent + start + i);
    sentAt.push(...numbers.map(micros));
    await queue.addBulk(
      numbers.map((event) => ({
        name: EVENT_TYPE,
        data: { account_id: accountId, type: EVENT_TYPE, data: dataOf(event) },
      })),
    );
  }
  await queue.close();
  return sentAt;
}
