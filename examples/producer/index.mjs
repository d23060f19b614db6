// Publishes what an import has found: a result for each event, and nothing lost while Redis is away.
//
//   REDIS_URL=redis://127.0.0.1:6379 node index.mjs
import { createEventPublisher, PublishError } from '@hookferry/producer';

const publisher = createEventPublisher({
  redisUrl: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379',
  onConnectionError: (error) => console.error(`Redis: ${error.message}`),
});

// Ids that the import knows again: when it runs a second time, its events are not published a second time.
const found = [
  { keyword: 'red shoes', position: 11, volume: 2400 },
  { keyword: 'blue shoes', position: 14, volume: 800 },
];
const events = found.map((data, row) => ({ type: 'keyword.quick_win', data, id: `import-42-row-${row}` }));

try {
  for (const [row, result] of (await publisher.publishBatch(events)).entries()) {
    console.log(
      result.status === 'published' ? `published ${result.id}` : `row ${row}: ${result.error.message}`,
    );
  }
  const { id } = await publisher.publish({
    type: 'import.completed',
    data: { import_id: 'import-42', source: 'csv', total_rows: found.length, failed_rows: 0 },
    id: 'import-42-completed',
  });
  console.log(`published ${id}`);
} catch (error) {
  if (!(error instanceof PublishError)) throw error;
  // Its id is the same next time, so running the import again is safe, whatever became of it.
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
} finally {
  await publisher.close();
}
