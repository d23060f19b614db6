import { z } from 'zod';
import { defineEventType } from '../event-type';

export const webhookRecovered = defineEventType({
  name: 'webhook.recovered',
  isOperational: true,
  description: 'A webhook of which `webhook.failing` told accepts deliveries again.',
  data: z.strictObject({
    webhook_id: z.string().describe("The webhook's id."),
    url: z.string().describe('Where it is delivered to.'),
    failing_since: z.iso.datetime().describe('When the first attempt failed after its last success.'),
    recovered_at: z.iso.datetime().describe('When it accepted a delivery again.'),
  }),
  example: {
    webhook_id: 'wh_01m7z10j4pcztef8hye093',
    url: 'https://receiver.example.com/hooks',
    failing_since: '2026-11-21T12:24:02.454Z',
    recovered_at: '2026-11-21T15:02:43.120Z',
  },
});
