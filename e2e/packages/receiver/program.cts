// Type-checked and run as CommonJS.
import receiver = require('@hookferry/receiver');

import { webhooks } from '@hookferry/receiver/express';
import { redisStore } from '@hookferry/receiver/redis';

const handler = webhooks({ secret: 'whsec_aaaa', on: { 'brief.created': ({ data }) => data } });

async function main(): Promise<void> {
  const fault: unknown = await receiver
    .verify({ secret: 'whk_a', headers: {}, body: '' })
    .catch((error: unknown) => error);
  if (!(fault instanceof receiver.WebhookVerificationError)) throw new Error('It has another class.');
  console.log(`require: ${fault.code}, ${typeof handler}, ${typeof redisStore}`);
}

void main();
