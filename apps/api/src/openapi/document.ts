import { catalogue, type EventType } from '@hookferry/core/event-types/built-in';
import { z } from 'zod';
import { problemSchema } from '../http/problem';
import type { Route } from '../http/route';
import { describeMembers } from './member-descriptions';
import {
  anyProblem,
  Components,
  describeRoute,
  headerParameters,
  type Json,
  tagOf,
  templateOf,
} from './operation';

const TAGS: Readonly<Record<string, string>> = {
  webhooks: 'Where events are delivered to.',
  contacts: 'Who is told what happens to webhooks.',
  notifications: 'The messages to contacts.',
  'signing-keys': 'The key pairs that sign deliveries with Ed25519.',
  stream: 'What changes, as it happens.',
  filters: 'Which events a webhook gets, by their data.',
  transformations: 'Code that makes what a webhook is sent.',
  listeners: 'Webhooks whose deliveries are taken by anyone who connects, such as `hookferry listen`.',
  deliveries: 'What became of them, attempt by attempt.',
  metrics: 'How many attempts there were over time, and how long they took.',
  replays: 'Sending the events of a time range once more.',
  events: 'Publishing, and what was published.',
  'event-types': 'The catalogue of what can be published.',
  'api-keys': 'Who may use the API.',
  'audit-log': 'Who changed and did what.',
  'portal-sessions': 'Links that let people into the portal.',
  accounts: 'Whose webhooks and events are kept apart.',
  account: 'How much an account stores, and how much it may.',
  'source-addresses': 'Where deliveries come from, for the firewalls of receivers.',
  operations: 'How the service stands as a whole, for its operators.',
  'dead-letters': 'Jobs that no worker will take any more, unless somebody puts them back.',
};

const INTRODUCTION = `
Register a webhook with \`POST /v1/webhooks\`, publish an event with \`POST /v1/events\`, and see what became of it with
\`GET /v1/webhooks/{id}/deliveries\`. What receivers get is under *webhooks*.

- **Authentication**: \`Authorization: Bearer whk_…\`. \`npm start\` prints a key; further ones come from \`POST /v1/api-keys\`.
- **Errors** are \`application/problem+json\`, with a \`code\` for programs and, for each fault of a request, where it is.
- **Lists** come in pages: \`limit\`, and \`cursor\` with the \`next_cursor\` of the page before.
- **Repeated requests**: whatever makes something takes an \`Idempotency-Key\`; an event may have an \`id\` of your own instead.
- **Times** are RFC 3339, in UTC.
`.trim();

/** The OpenAPI document of the API. It is the same for every deployment. */
export function describeApi(routes: readonly Route[]): Json {
  const components = new Components();
  components.ofResponse(problemSchema);
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Hookferry',
      version: '1',
      description: INTRODUCTION,
      summary: 'Accepts an event once, and delivers it signed to every webhook that asked for it.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }],
    tags: [...new Set(routes.map(tagOf))].map((name) => ({ name, description: TAGS[name] })),
    paths: pathsOf(routes, components),
    webhooks: describeDeliveries(components),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key: `whk_…`, or the token of a portal session: `whp_…`.',
        },
      },
      parameters: { ...headerParameters, ...deliveryHeaders },
      responses: { Problem: anyProblem },
      schemas: components.schemas,
    },
  };
  return describeMembers(document) as Json;
}

function pathsOf(routes: readonly Route[], components: Components): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const template = templateOf(route);
    paths[template] = { ...paths[template], [route.method]: describeRoute(route, components) };
  }
  return paths;
}

/** The requests to endpoints: one entry for each built-in event type. */
function describeDeliveries(components: Components): Json {
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

/** The headers of each delivery. `X-Service-Signature` is the default of a name that operators can change. */
const deliveryHeaders = {
  WebhookId: header('webhook-id', "The event's id, the same on every attempt: by it duplicates are known."),
  WebhookTimestamp: header('webhook-timestamp', 'When this attempt was made, in Unix seconds.', '1614265330'),
  WebhookSignature: header(
    'webhook-signature',
    'Standard Webhooks 1.0: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`. During a rotation one ' +
      'for each live secret, newest first, separated by a space. Where `signing` of the webhook is `ed25519` or ' +
      '`both` also `v1a,` and the base64 of an Ed25519 signature over the same.',
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  ),
  WebhookKeyId: {
    ...header('webhook-key-id', 'The `kid` of the key of the `v1a` signature, where there is one.'),
    required: false,
  },
  ServiceSignature: {
    ...header(
      'X-Service-Signature',
      '`sha256=` and the hex of HMAC-SHA256 over the body, with the newest secret as it was issued. Not where ' +
        '`signing` is `ed25519`.',
    ),
    required: false,
  },
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
