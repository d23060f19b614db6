/**
 * Receives webhooks at /webhooks:
 *
 *   WEBHOOK_SECRET=whsec_… PORT=4000 npm start
 */
import { memoryStore, responses } from '@hookferry/receiver';
import { webhooks } from '@hookferry/receiver/express';
import express from 'express';

const app = express();

// Before express.json(): the signature is over the bytes as they came.
app.post(
  '/webhooks',
  webhooks({
    secret: process.env.WEBHOOK_SECRET,
    dedupe: memoryStore(),
    on: {
      'order.paid': ({ data }) => console.log(`paid: ${data.id}`),
      'order.created': ({ data }) => {
        if (data.id === '') return responses.abort(); // Trying again would not help.
        console.log(`an order: ${data.id}`);
      },
    },
    otherwise: ({ type }) => console.log(`nothing to do for ${type}`),
  }),
);

app.use(express.json());
app.post('/echo', (request, response) => response.json(request.body));

const server = app.listen(Number(process.env.PORT ?? 4000), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/webhooks`);
});
