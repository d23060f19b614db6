import { catalogue } from '@hookferry/core/catalogue/built-in/index';
import type { EventType } from '@hookferry/core/catalogue/event-type';
import { z } from 'zod';
import type { Components, Json } from './components';

/** The requests that endpoints receive: one entry for each built-in event type. */
export function describeDeliveries(components: Components): Json {
  return Object.fromEntries(
    catalogue.map((eventType) => [eventType.name, { post: describeDelivery(eventType, components) }]),
  );
}

function describeDelivery({ name, description, data, example }: EventType, components: Components): Json {
  const body = z.object({ type: z.literal(name), data }).meta({ id: `${inPascalCase(name)}Event` });
  return {
    operationId: `receive${inPascalCase(name)}`,
    summary: name,
    description,
    tags: ['deliveries'],
    security: [],
    parameters: Object.keys(deliveryHeaders).map((key) => ({ $ref: `#/components/parameters/${key}` })),
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: components.ofResponse(body), example: { type: name, data: example } },
      },
    },
    responses: {
      '2XX': { description: 'Delivered.' },
      410: { description: 'Not delivered, and the webhook is disabled.' },
      default: { description: 'Not delivered: tried again later.' },
    },
  };
}

/** `keyword.quick_win` as generated code would name it: `KeywordQuickWin`. */
function inPascalCase(name: string): string {
  return name.replace(/(?:^|[._])([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

/** What each delivery carries. `X-Service-Signature` is the default of a name that operators can change. */
export const deliveryHeaders = {
  WebhookId: header('webhook-id', "The event's id, the same on every attempt: by it duplicates are known."),
  WebhookTimestamp: header('webhook-timestamp', 'When this attempt was made, in Unix seconds.', '1614265330'),
  WebhookSignature: header(
    'webhook-signature',
    'Standard Webhooks 1.0: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`. During a rotation one ' +
      'for each live secret, newest first, separated by a space.',
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  ),
  ServiceSignature: header(
    'X-Service-Signature',
    '`sha256=` and the hex of HMAC-SHA256 over the body, with the newest secret as it was issued.',
  ),
  ServiceAttempt: header('X-Service-Attempt', '1, 2, …', '1'),
  ServiceTest: {
    ...header(
      'X-Service-Test',
      '`true` of an event that was made to try the webhook out; else it is not there.',
    ),
    required: false,
  },
};

function header(name: string, description: string, example?: string) {
  return {
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string' },
    ...(example === undefined ? {} : { example }),
  };
}
