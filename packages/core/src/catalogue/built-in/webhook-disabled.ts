import { z } from 'zod';
import { disabledReasons } from '../../model/endpoint';
import { defineEventType } from '../event-type';

export const webhookDisabled = defineEventType({
  name: 'webhook.disabled',
  isOperational: true,
  description: 'A webhook was disabled; what it is owed is held until it is enabled.',
  data: z.strictObject({
    webhook_id: z.string().describe("The webhook's id."),
    url: z.string().describe('Where it is delivered to.'),
    reason: z.enum(disabledReasons).describe('Why, as in its `disabled_reason`.'),
    disabled_at: z.iso.datetime().describe('When.'),
  }),
  example: {
    webhook_id: 'wh_01m7z10j4pcztef8hye093',
    url: 'https://receiver.example.com/hooks',
    reason: 'failing',
    disabled_at: '2026-11-21T12:24:02.454Z',
  },
});
