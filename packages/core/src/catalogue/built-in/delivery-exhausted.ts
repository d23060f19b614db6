import { z } from 'zod';
import { defineEventType } from '../event-type';

export const deliveryExhausted = defineEventType({
  name: 'delivery.exhausted',
  isOperational: true,
  description: 'The last attempt of a delivery failed; it is kept and listed, and not tried again.',
  data: z.strictObject({
    delivery_id: z.string().describe("The delivery's id."),
    event_id: z.string().describe('The event that was to be delivered.'),
    webhook_id: z.string().describe('The webhook that it was to be delivered to.'),
    type: z.string().describe("The event's type."),
    attempt_count: z.int().min(1).describe('Attempts that were made.'),
  }),
  example: {
    delivery_id: 'evt_01m7z10j5c4fq3r52bewgh.wh_01m7z10j4pcztef8hye093',
    event_id: 'evt_01m7z10j5c4fq3r52bewgh',
    webhook_id: 'wh_01m7z10j4pcztef8hye093',
    type: 'keyword.quick_win',
    attempt_count: 10,
  },
});
