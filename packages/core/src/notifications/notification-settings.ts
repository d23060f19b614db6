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
    .describe('the sender of [mail to contacts](notifications.md); unless set, no mail is sent'),
};

/** How workers tell contacts. */
export const notificationSettings = {
  ...mailSettings,
  SMTP_URL: z
    .string()
    .refine(isSmtpUrl, 'must be smtp://[user:password@]host[:port], or smtps: (the password percent-encoded)')
    .optional()
    .describe('the server that sends mail to contacts: `smtp://[user:password@]host[:port]`, or `smtps:`'),
  NOTIFY_FAILING_AFTER: positiveDurationSchema
    .prefault('10m')
    .describe('contacts get a message about a webhook that only fails for this long'),
  NOTIFY_SUCCESS_BELOW: z.coerce
    .number()
    .min(0, 'must be at least 0')
    .max(100, 'must be at most 100')
    .default(50)
    .describe('also about a webhook of whose attempts fewer succeed, in percent; `0`: no such message'),
  NOTIFY_SUCCESS_BELOW_FOR: positiveDurationSchema
    .prefault('15m')
    .describe('for this long, with at least ten attempts'),
};

function isSmtpUrl(text: string): boolean {
  const url = parseUrl(text);
  // No options in its query: they could switch off the check of the server's certificate.
  return url !== undefined && /^smtps?:$/.test(url.protocol) && url.hostname !== '' && url.search === '';
}
