import { problemSchema } from '../http/problem';
import type { Route } from '../http/route';
import { Components, type Json } from './components';
import { deliveryHeaders, describeDeliveries } from './delivery-webhooks';
import { describeMembers } from './member-descriptions';
import { describeRoute, headerParameters, tagOf, templateOf } from './operation';
import { anyProblem } from './problem-responses';

const TAGS: Readonly<Record<string, string>> = {
  webhooks: 'Where events are delivered to.',
  stream: 'What changes, as it happens.',
  filters: 'Which events a webhook gets, by their data.',
  listeners: 'Webhooks whose deliveries are taken by whoever connects, such as `hookferry listen`.',
  deliveries: 'What became of them, attempt by attempt.',
  replays: 'Sending the events of a time range once more.',
  events: 'Publishing, and what was published.',
  'event-types': 'The catalogue of what can be published.',
  'api-keys': 'Who may use the API.',
  'portal-sessions': 'Links that let people into the portal.',
  accounts: 'Whose webhooks and events are kept apart.',
  account: 'How much an account stores, and how much it may.',
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
      title: 'Webhook delivery service',
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
