// A producer service: a process that has nothing but Redis and packages/producer.
// Usage: node producer.cjs REDIS_URL EVENT_AS_JSON
const { Redis } = require('ioredis');
const { createEventPublisher } = require('@hookferry/producer');

async function main([redisUrl, event]) {
  const connection = new Redis(redisUrl, { maxRetriesPerRequest: null });
  const publisher = createEventPublisher({ connection });
  await publisher.publish(JSON.parse(event));
  await publisher.close();
  await connection.quit();
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
