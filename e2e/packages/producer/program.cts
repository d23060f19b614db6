// Type-checked and run as CommonJS.
import producer = require('@hookferry/producer');

async function main(): Promise<void> {
  const publisher = producer.createEventPublisher({ redisUrl: process.env.REDIS_URL ?? '' });
  const [result] = await publisher.publishBatch([
    { type: 'import.completed', data: { import_id: 'i', source: 'csv', total_rows: 1, failed_rows: 0 } },
  ]);
  await publisher.close();
  console.log(`require: ${result?.status}`);
}

void main();
