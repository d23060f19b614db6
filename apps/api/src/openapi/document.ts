import { catalogue, type EventType } from '@hookferry/core/accounts/event-types/built-in';
import { z } from 'zod';
import { problemSchema } from '../http/problem';
import type { Route } from '../http/route';
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
  webhooks: 'The URLs that events are delivered to, with their settings.',
  contacts: 'People and channels that get notifications about webhooks.',
  notifications: 'The messages to contacts.',
  'signing-keys': 'The key pairs that sign deliveries with Ed25519.',
  stream: 'Changes of deliveries, webhooks and replays, as they happen.',
  filters: 'Conditions on the payload that decide which events a webhook gets.',
  transformations: 'Code that makes the body of the requests of a webhook.',
  listeners: 'Webhooks whose deliveries go to a connected client, such as `hookferry listen`.',
  deliveries: 'Events on their way to webhooks, with every attempt.',
  metrics: 'Attempts and events, counted over time.',
  replays: 'Sending the events of a time range once more.',
  events: 'Publishing events, and reading them.',
  'event-types': 'The catalogue of event types, with a schema and an example for each.',
  'api-keys': 'The keys of programs that use the API.',
  me: 'The key of the request itself.',
  'audit-log': 'Every change, with its actor.',
  'portal-sessions': 'Links that open the portal.',
  accounts: 'Customers whose webhooks and events are separate from each other.',
  account: 'The usage and the quota of an account.',
  'source-addresses': 'The addresses that deliveries come from, for firewalls.',
  status: 'Whether the service accepts events, for monitors.',
  operations: 'The state of the whole service, for its operators.',
  'dead-letters': 'Jobs that workers no longer take, until an operator retries them.',
};

const INTRODUCTION = `
Register a webhook with \`POST /v1/webhooks\`, publish an event with \`POST /v1/events\`, and follow its deliveries with
\`GET /v1/webhooks/{id}/deliveries\`. The section *webhooks* describes the requests that receivers get.

- **Authentication**: send \`Authorization: Bearer whk_…\`. \`npm start\` prints a key; \`POST /v1/api-keys\` issues more.
- **Errors** are \`application/problem+json\`, with a \`code\` for programs and the member of each fault.
- **Lists** come in pages: pass the \`next_cursor\` of a page as \`cursor\` to get the next one.
- **Retries**: requests that create something take an \`Idempotency-Key\`. An event may have an \`id\` of your own instead.
- **Times** are RFC 3339, in UTC.
`.trim();

/** The OpenAPI document of the API. It is the same for every deployment. */
export function describeApi(routes: readonly Route[]): Json {
  const components = new Components();
  components.ofResponse(problemSchema);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Hookferry API',
      version: 'v1',
      description: INTRODUCTION,
      summary:
        'Accepts an event once, and delivers it, signed, to every webhook that subscribes to its type.',
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
  const body = z
    .object({
      type: z.literal(name).describe('The event type.'),
      data: data.describe('The payload, byte for byte as it was published.'),
    })
    .meta({ id: `${inPascalCase(name)}Event` });
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
      410: { description: 'Not delivered. The webhook is disabled.' },
      default: { description: 'Not delivered. Hookferry tries again later.' },
    },
  };
}

/** `keyword.quick_win` as generated code would name it: `KeywordQuickWin`. */
function inPascalCase(name: string): string {
  return name.replace(/(?:^|[._])([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

/** The headers of each delivery. `X-Service-Signature` is the default of a name that operators can change. */
const deliveryHeaders = {
  WebhookId: header(
    'webhook-id',
    'The id of the event. It is the same on every attempt: use it to recognise duplicates.',
  ),
  WebhookTimestamp: header(
    'webhook-timestamp',
    'The time of this attempt, in seconds since the Unix epoch.',
    '1614265330',
  ),
  WebhookSignature: header(
    'webhook-signature',
    'Standard Webhooks 1.0: `v1,` and the base64 of the HMAC-SHA256 of `id.timestamp.body`. During a rotation there ' +
      'is one for each valid secret, newest first, separated by spaces. With `signing` `ed25519` or `both` there is ' +
      'also `v1a,` and the base64 of the Ed25519 signature of the same text.',
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  ),
  WebhookKeyId: {
    ...header(
      'webhook-key-id',
      'The `kid` of the key of the `v1a` signature. Absent without such a signature.',
    ),
    required: false,
  },
  ServiceSignature: {
    ...header(
      'X-Service-Signature',
      '`sha256=` and the HMAC-SHA256 of the body in hex. The key is the newest secret, as it was issued. Absent if ' +
        '`signing` is `ed25519`.',
    ),
    required: false,
  },
  ServiceAttempt: header('X-Service-Attempt', 'The number of this attempt, from 1.', '1'),
  ServiceTest: {
    ...header('X-Service-Test', '`true` for a test event. Absent for all others.'),
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
