/**
 * The yardstick: the route that a team would write by hand first. It parses JSON and does one BullMQ add. No key, no
 * validation, no ids, no limits.
 */
import { Queue } from 'bullmq';
import express from 'express';

const queue = new Queue('events', { connection: { url: process.env.REDIS_URL ?? '' } });
const app = express();

app.get('/readyz', (_request, response) => {
  response.end();
});
app.post('/v1/events', express.json(), async (request, response) => {
  const job = await queue.add('event', request.body);
  response.status(202).json({ id: job.id });
});

const server = app.listen(Number(process.env.API_PORT), '127.0.0.1');
process.on('SIGTERM', () => {
  server.closeAllConnections();
  server.close();
  void queue.close().then(() => process.exit(0));
});
