// The signatures of a request, written down independently of the service and of every package that checks them.
import { createHmac } from 'node:crypto';

/** The value of `X-Service-Signature`: over the body alone, its key the secret as it was issued. */
export const signService = (secret, body, prefix = 'sha256=') =>
  `${prefix}${createHmac('sha256', secret).update(body).digest('hex')}`;

/** One value of `webhook-signature` (Standard Webhooks 1.0): its key is what follows `whsec_`, decoded. */
export const signStandard = (secret, id, timestamp, body) =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
    .update(`${id}.${timestamp}.`)
    .update(body)
    .digest('base64')}`;
