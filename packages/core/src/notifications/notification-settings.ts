import { z } from 'zod';
import { positiveDurationSchema } from '../platform/duration';
import { parseUrl } from '../platform/parse-url';

const FROM =
  /^(?:[^<>\r\n"]{0,100}<[^<>\s@]{1,64}@[A-Za-z0-9.-]{1,253}>|[^<>\s@]{1,64}@[A-Za-z0-9.-]{1,253})$/;

/** The API refuses contacts by mail without it. */
export const mailSettings = {
  MAIL_FROM: z
    .string()
    .regex(FROM, 'must be an address such as webhooks@example.com, or Example <webhooks@example.com>')
    .optional()
    .describe('who [messages to contacts](notifications.md) by mail are from; unless set, there are none'),
};

/** How workers tell contacts. */
export const notificationSettings = {
  ...mailSettings,
  SMTP_URL: z
    .string()
    .refine(isSmtpUrl, 'must be smtp://[user:password@]host[:port], or smtps: (the password percent-encoded)')
    .optional()
    .describe('the server that sends them: `smtp://[user:password@]host[:port]`, or `smtps:`'),
  NOTIFY_FAILING_AFTER: positiveDurationSchema
    .prefault('10m')
    .describe('a webhook that only fails for so long is told of to its contacts'),
  NOTIFY_SUCCESS_BELOW: z.coerce
    .number()
    .min(0, 'must be at least 0')
    .max(100, 'must be at most 100')
    .default(50)
    .describe('so is one of whose attempts fewer succeed, in percent; `0`: none'),
  NOTIFY_SUCCESS_BELOW_FOR: positiveDurationSchema
    .prefault('15m')
    .describe('and for so long, with ten attempts at the least'),
};

function isSmtpUrl(text: string): boolean {
  const url = parseUrl(text);
  // No options in its query: they could switch off the check of the server's certificate.
  return url !== undefined && /^smtps?:$/.test(url.protocol) && url.hostname !== '' && url.search === '';
}
