import { once } from 'node:events';
import { memoryStore } from '@hookferry/receiver';
import { webhooks } from '@hookferry/receiver/express';
import express from 'express';

/** Start the receiver. Gives its URL, and `close`. */
export async function startApp({ secret, port, ...handling }) {
  const app = express();
  // Before express.json(): the signature is over the bytes as they came.
  app.post('/webhooks', webhooks({ secret, dedupe: memoryStore(), ...handling }));
  app.use(express.json());

  const server = app.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
