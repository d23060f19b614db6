import { z } from 'zod';
import { attemptOutcomes } from '../../model/attempt';
import { defineEventType } from '../event-type';

export const webhookFailing = defineEventType({
  name: 'webhook.failing',
  isOperational: true,
  description: 'A delivery to a webhook failed for the fourth time; it is tried further as scheduled.',
  data: z.strictObject({
    webhook_id: z.string().describe("The webhook's id."),
    url: z.string().describe('Where it is delivered to.'),
    event_id: z.string().describe('The event that was to be delivered.'),
    delivery_id: z.string().describe('The delivery that failed.'),
    type: z.string().describe("The event's type."),
    attempt_count: z.int().min(1).describe('Attempts so far.'),
    last_outcome: z.enum(attemptOutcomes).describe("The last attempt's outcome."),
    last_response_status: z.int().nullable().describe('What the receiver answered; null: nothing.'),
  }),
  example: {
    webhook_id: 'wh_01m7z10j4pcztef8hye093',
    url: 'https://receiver.example.com/hooks',
    event_id: 'evt_01m7z10j5c4fq3r52bewgh',
    delivery_id: 'evt_01m7z10j5c4fq3r52bewgh.wh_01m7z10j4pcztef8hye093',
    type: 'keyword.quick_win',
    attempt_count: 4,
    last_outcome: 'http_5xx',
    last_response_status: 503,
  },
});
