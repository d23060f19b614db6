import { createHmac } from 'node:crypto';

export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const OTHER_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
export const BODY = '{"type":"brief.created","data":{"title":"Über uns 🚀"}}';

export interface WebhookParts {
  readonly id?: string;
  readonly body?: string | Uint8Array;
  readonly secret?: string;
  /** In whole seconds since the Unix epoch. */
  readonly timestamp?: number;
}

/** The headers of Standard Webhooks, made without any code of ours. */
export function signStandard({ id = 'evt_1', body = BODY, secret = SECRET, timestamp }: WebhookParts = {}) {
  const time = String(timestamp ?? Math.floor(Date.now() / 1_000));
  const hmac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'));
  const signature = hmac.update(`${id}.${time}.`).update(body).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': `v1,${signature}` };
}

/** The hex digits of `X-Service-Signature`. */
export function serviceDigits({ body = BODY, secret = SECRET }: WebhookParts = {}): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}
