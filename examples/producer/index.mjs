// Publishes the orders of a day: a result for each event, and nothing lost while Redis is away.
//
//   REDIS_URL=redis://127.0.0.1:6379 node index.mjs
import { createEventPublisher, PublishError } from '@hookferry/producer';

const publisher = createEventPublisher({
  redisUrl: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
  onConnectionError: (error) => console.error(`Redis: ${error.message}`),
});

// Ids that follow from the orders: when this runs a second time, its events are not published a second time.
const orders = [
  { id: 'ord_4711', total: 99.5 },
  { id: 'ord_4712', total: 12 },
];
const events = orders.map((data) => ({ type: 'order.created', data, id: `created-${data.id}` }));

try {
  for (const [row, result] of (await publisher.publishBatch(events)).entries()) {
    console.log(
      result.status === 'published' ? `published ${result.id}` : `row ${row}: ${result.error.message}`,
    );
  }
  const { id } = await publisher.publish({
    type: 'order.paid',
    data: orders[0],
    id: `paid-${orders[0].id}`,
  });
  console.log(`published ${id}`);
} catch (error) {
  if (!(error instanceof PublishError)) throw error;
  // Its id is the same next time, so running this again is safe, whatever became of it.
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
} finally {
  await publisher.close();
}
