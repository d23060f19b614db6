import type { EventId } from '@hookferry/core/domain/event';
import { oneShard } from '@hookferry/core/domain/queues';
import { systemClock } from '@hookferry/core/platform/clock';
import { createNewId } from '@hookferry/core/platform/ids';
import { DeliveryQueue } from '@hookferry/core/queue/bullmq-delivery-queue';
import type { QueueConnection } from '@hookferry/core/queue/bullmq-on-demand-queue';
import { buildEndpoint } from '@hookferry/core/testing/build-endpoint';

const ENDPOINTS = 1_000;
const AT_ONCE = 500;
const TOLD_EVERY = 100_000;

/** Puts so many deliveries to a thousand endpoints onto the queue. Their events are not there: nobody is to send them. */
export async function loadPending(connection: QueueConnection, deliveries: number): Promise<void> {
  const queue = new DeliveryQueue(connection.redis, oneShard(connection.prefix));
  const newId = createNewId(systemClock);
  const endpoints = Array.from({ length: ENDPOINTS }, () => buildEndpoint());
  for (let done = 0; done < deliveries; done += AT_ONCE) {
    const count = Math.min(AT_ONCE, deliveries - done);
    const batch = Array.from({ length: count }, (_, i) => {
      const { accountId, id: endpointId } = endpoints[(done + i) % ENDPOINTS] ?? buildEndpoint();
      return { accountId, endpointId, eventId: newId('evt') as EventId };
    });
    await queue.addAll(batch);
    if (done > 0 && done % TOLD_EVERY === 0) process.stderr.write(`  ${done} pending\n`);
  }
  await queue.close();
}
