/**
 * The yardstick's first half: the route that a team would write by hand. It parses JSON and adds one BullMQ job with
 * the endpoint's id, which the publisher names if there are several, and the body. No key, no validation, no ids, no limits.
 */
import { Queue } from 'bullmq';
import express from 'express';

interface Event {
  readonly type: string;
  readonly data: unknown;
  readonly webhook_ids?: readonly string[];
}

const queue = new Queue('deliveries', { connection: { url: process.env.REDIS_URL ?? '' } });
const app = express();

app.get('/readyz', (_request, response) => {
  response.end();
});
app.post('/v1/events', express.json(), async (request, response) => {
  const { type, data, webhook_ids: ids } = request.body as Event;
  const job = await queue.add(
    'deliver',
    { endpointId: ids?.[0] ?? '0', type, data },
    { attempts: 10, backoff: { type: 'exponential', delay: 5_000 } },
  );
  response.status(202).json({ id: job.id });
});

const server = app.listen(Number(process.env.API_PORT), '127.0.0.1');
process.on('SIGTERM', () => {
  server.closeAllConnections();
  server.close();
  void queue.close().then(() => process.exit(0));
});
