import { WebhookVerificationError } from './verification-error';

/** What the signature vouches for besides the body. `X-Service-Signature` covers neither. */
export interface SignedHeaders {
  /** The event's id (`webhook-id`): the same on every attempt. */
  readonly id?: string;
  /** When this attempt was signed (`webhook-timestamp`), in whole seconds since the Unix epoch. */
  readonly timestamp?: number;
}

/** An event of the type `Type`. */
export interface EventOf<Events extends object, Type extends keyof Events> extends SignedHeaders {
  readonly type: Type;
  readonly data: Events[Type];
}

/**
 * An event that was verified. `Events` says what `data` is for each `type`, and makes this a union that `type` tells
 * apart; it is not checked here. Without it `type` is any string and `data` unknown.
 */
export type WebhookEvent<Events extends object = Record<string, unknown>> = {
  [Type in keyof Events & string]: EventOf<Events, Type>;
}[keyof Events & string];

/** @throws WebhookVerificationError `invalid_payload` */
export function parsePayload(body: Uint8Array): { readonly type: string; readonly data: unknown } {
  const payload = parseJson(body);
  if (isPayload(payload)) return { type: payload.type, data: payload.data };
  throw invalidPayload('has no "type" and "data"');
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw invalidPayload('is not JSON');
  }
}

function isPayload(payload: unknown): payload is { type: string; data: unknown } {
  return (
    typeof payload === 'object' &&
    payload !== null &&
    'type' in payload &&
    typeof payload.type === 'string' &&
    'data' in payload
  );
}

function invalidPayload(what: string): WebhookVerificationError {
  return new WebhookVerificationError(
    'invalid_payload',
    `The signature is good, but the body ${what}: is the sender this service? If so, read the body by yourself after verifySignature().`,
  );
}
