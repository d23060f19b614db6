// A producer service: a process that has nothing but Redis and packages/producer.
// Usage: node producer.cjs REDIS_URL EVENT_AS_JSON [TRACEPARENT]
const { createEventPublisher } = require('@hookferry/producer');

async function main([redisUrl, event, traceparent]) {
  const publisher = createEventPublisher({ redisUrl, traceparent: () => traceparent });
  await publisher.publish(JSON.parse(event));
  await publisher.close();
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
