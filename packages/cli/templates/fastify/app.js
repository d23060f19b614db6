import { memoryStore } from '@hookferry/receiver';
import { webhooks } from '@hookferry/receiver/fastify';
import fastify from 'fastify';

/** Start the receiver. Gives its URL, and `close`. */
export async function startApp({ secret, port, ...handling }) {
  const app = fastify({ forceCloseConnections: true });
  await app.register(webhooks({ path: '/webhooks', secret, dedupe: memoryStore(), ...handling }));
  const url = await app.listen({ port, host: '127.0.0.1' });
  return { url, close: () => app.close() };
}
