import type { ErrorCode } from '@hookferry/core/platform/app-error';
import { z } from 'zod';
import type { ApiContext } from '../context';
import { IDEMPOTENCY_KEY_FORM } from '../http/idempotency';
import { PROBLEM_TYPE, statusOf, titleOf } from '../http/problem';
import type { DeclaredResponse, RequestShape, Route } from '../http/route';
import { EVENTS_TYPE, NDJSON_TYPE } from '../http/send-reply';
import examples from './answer-examples.json';

const JSON_TYPE = 'application/json';

/** A response of each route, by operation and status. `npm run generate` writes them. */
export const answerExamples: Readonly<Record<string, Readonly<Record<string, unknown>>>> = examples;

/** A route as an OpenAPI operation. */
export function describeRoute(route: Route, components: Components): Json {
  const { operationId, summary, request, responses } = route;
  return {
    operationId,
    summary,
    description: permissionOf(route),
    ...(route.deprecated && { deprecated: true }),
    tags: [tagOf(route)],
    ...(route.scope === 'none' ? { security: [] } : {}),
    parameters: [
      ...parametersOf(request.params, 'path', tagOf(route), components),
      ...parametersOf(request.query, 'query', tagOf(route), components),
      ...headersOf(route),
    ],
    ...(request.body === undefined ? {} : { requestBody: bodyOf(route, components) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, declared]) => [
          status,
          responseOf(declared, answerExamples[operationId]?.[status], components),
        ]),
      ),
      ...problemResponses(route),
    },
  };
}

/** `/v1/webhooks/:id` as OpenAPI writes it. */
export function templateOf({ path }: Pick<Route, 'path'>): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

/** The first word of its path after the version. */
export function tagOf({ path }: Pick<Route, 'path'>): string {
  return path.split('/')[2] ?? '';
}

function permissionOf({ scope, operatorOnly, handlesSecret, capability, deprecated }: Route): string {
  return [
    ...(deprecated
      ? [`Deprecated since ${deprecated.since}, and gone from ${deprecated.sunset} on at the earliest.`]
      : []),
    needsOf(scope),
    ...(operatorOnly ? ["The key must belong to the operator's account."] : []),
    ...(capability ? [`A portal session needs the capability \`${capability}\` instead.`] : []),
    ...(handlesSecret ? ['A portal session also needs the capability `secrets`.'] : []),
  ].join(' ');
}

function needsOf(scope: Route['scope']): string {
  if (scope === 'none') return 'Needs no API key.';
  return scope === 'any' ? 'Needs an API key with any scope.' : `Needs the scope \`${scope}\`.`;
}

const WEBHOOK_ID = 'wh_01m7ze3thwae6532vdxr7r';
const EVENT_ID = 'evt_01m7ze3vqwgsz1p4n4nhes';
// Of what has a secret part.
const SECRET_ID = '4f7kq2m9x1c8v5b3';
const ACCOUNT = { description: 'The id of the account.', example: 'acct_01m7ze5a8r4x6c2v9b1n3m' };
/** The object that the path of a route names, by the first word of the path. */
const OF_PATH: Readonly<Record<string, Json>> = {
  webhooks: { description: 'The id of the webhook, or its `uid`.', example: WEBHOOK_ID },
  listeners: { description: 'The id of the listener.', example: WEBHOOK_ID },
  deliveries: {
    description: 'The id of the delivery: the id of the event, a dot, and the id of the webhook.',
    example: `${EVENT_ID}.${WEBHOOK_ID}`,
  },
  replays: { description: 'The id of the replay.', example: 'rpl_01m7ze4c1m9d1y3k5f7r2w' },
  events: { description: 'The id of the event.', example: EVENT_ID },
  'event-types': { description: 'The name of the event type.', example: 'invoice.paid' },
  'api-keys': { description: 'The id of the API key: the 16 characters after `whk_`.', example: SECRET_ID },
  'portal-sessions': { description: 'The id of the portal session.', example: SECRET_ID },
  accounts: ACCOUNT,
  'dead-letters': {
    description: 'The id of the dead letter.',
    example: 'events-dead-letters.1767225600000-17',
  },
};

function parametersOf(
  schema: z.ZodType | undefined,
  place: 'path' | 'query',
  resource: string,
  components: Components,
): readonly Json[] {
  if (!(schema instanceof z.ZodObject)) return [];
  const named = place === 'path' ? OF_PATH[resource] : undefined;
  return Object.entries(schema.shape).map(([name, member]) => {
    const { description, ...form } = components.ofRequest(member as z.ZodType);
    return {
      name,
      in: place,
      required: place === 'path',
      ...(description === undefined ? (name === 'account_id' ? ACCOUNT : named) : { description }),
      schema: form,
    };
  });
}

function headersOf({ scope, creates, problems = [] }: Route): readonly Json[] {
  return [
    ...(scope === 'none' ? [] : [{ $ref: '#/components/parameters/AccountId' }]),
    ...(creates === true ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    ...(problems.includes('precondition_failed') ? [{ $ref: '#/components/parameters/IfMatch' }] : []),
  ];
}

export const headerParameters = {
  AccountId: {
    name: 'X-Account-Id',
    in: 'header',
    description:
      "The account that the request is for. Only keys of the operator's account may name another one. Default: the account of the key.",
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A key of your own for this request. A repeated request with the same key is not carried out again, and gets the first response.',
    schema: { type: 'string', pattern: IDEMPOTENCY_KEY_FORM.source },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description:
      'The `ETag` of the state that you have read. The change is refused if the object has changed since. Default: no check.',
    schema: { type: 'string' },
  },
};

function bodyOf({ method, request, otherForms = [] }: Route, components: Components): Json {
  const types = method === 'patch' ? ['application/merge-patch+json', JSON_TYPE] : [JSON_TYPE];
  const texts = otherForms.flatMap(({ description }) => description ?? []);
  // One that is told by a header has the media type of another.
  const forms = otherForms.filter(({ header }) => header === undefined);
  const content = [
    ...types.map((type) => [type, contentOf(request, components)]),
    ...forms.map((form) => [form.mediaType, contentOf(form.request, components)]),
  ];
  return {
    ...(texts.length === 0 ? {} : { description: texts.join(' ') }),
    required: request.mayLackBody !== true,
    content: Object.fromEntries(content) as Json,
  };
}

function contentOf(request: RequestShape, components: Components): Json {
  const { example } = request;
  return {
    schema: components.ofRequest(describedBodyOf(request)),
    ...(example === undefined ? {} : { example }),
  };
}

// A schema's description does not depend on the settings that it checks by.
function describedBodyOf({ body, describedBody }: RequestShape): z.ZodType {
  if (describedBody !== undefined) return describedBody;
  return typeof body === 'function' ? body({} as ApiContext) : (body ?? z.never());
}

function responseOf(declared: DeclaredResponse, example: unknown, components: Components): Json {
  const { description, schema } = declared;
  if (schema === undefined) return { description };
  const shown = example === undefined ? {} : { example };
  return {
    description,
    content: { [typeOf(declared)]: { schema: components.ofResponse(schema), ...shown } },
  };
}

function typeOf({ isLines, isEvents }: DeclaredResponse): string {
  if (isEvents) return EVENTS_TYPE;
  return isLines ? NDJSON_TYPE : JSON_TYPE;
}

/** The possible errors of any route: it needs a valid key or code, a known query and the store. */
const OF_ALL: readonly ErrorCode[] = [
  'unauthenticated',
  'invalid_request',
  'rate_limited',
  'storage_unavailable',
];
/** Of a route with a key, which has scopes and an account. */
const OF_KEY: readonly ErrorCode[] = ['insufficient_scope', 'operator_only', 'not_found'];
const OF_BODY: readonly ErrorCode[] = ['malformed_json', 'payload_too_large', 'unsupported_media_type'];
const OF_IDEMPOTENCY_KEY: readonly ErrorCode[] = [
  'request_in_progress',
  'response_not_kept',
  'conflict',
  'idempotency_key_reused',
];

const RETRY_AFTER = {
  'Retry-After': {
    description: 'How many seconds to wait before the next try.',
    schema: { type: 'integer' },
  },
};

/** A route's errors, by status. They follow from its properties and from the errors that it names. */
function problemResponses(route: Route): Record<string, Json> {
  const codes = [...new Set(codesOf(route))];
  const statuses = [...new Set(codes.map(statusOf))].sort((a, b) => a - b);
  const responses = statuses.map((status) => [
    status,
    problemResponse(
      codes.filter((code) => statusOf(code) === status),
      status,
    ),
  ]);
  return { ...Object.fromEntries(responses), default: { $ref: '#/components/responses/Problem' } };
}

/** For errors of any request, such as a failure of the service. */
export const anyProblem = { description: 'Any other error.', ...problemContent() };

function codesOf({ scope, isPublic, request, creates, stores, problems = [] }: Route): readonly ErrorCode[] {
  if (isPublic) return ['invalid_request', ...problems];
  return [
    ...OF_ALL,
    ...(scope === 'none' ? [] : OF_KEY),
    ...(request.body === undefined ? [] : OF_BODY),
    ...(creates === true ? OF_IDEMPOTENCY_KEY : []),
    ...(stores === undefined ? [] : (['quota_exceeded'] as const)),
    ...problems,
  ];
}

function problemResponse(codes: readonly ErrorCode[], status: number): Json {
  return {
    description: codes.map((code) => `\`${code}\`: ${titleOf(code)}.`).join(' '),
    ...(status === 429 || status === 503 ? { headers: RETRY_AFTER } : {}),
    ...problemContent(),
  };
}

function problemContent() {
  return { content: { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } } };
}

export type Json = Readonly<Record<string, unknown>>;

/** Collects the named schemas of a document while its parts are written. */
export class Components {
  readonly schemas: Record<string, unknown> = {};

  /** The schema of input. Where the schema transforms, this is its form before. */
  ofRequest(schema: z.ZodType): Json {
    return this.#convert(schema, 'input');
  }

  /** The schema of output. */
  ofResponse(schema: z.ZodType): Json {
    return this.#convert(schema, 'output');
  }

  // Inside of another one, a schema with a name of its own becomes a reference too.
  #convert(schema: z.ZodType, io: 'input' | 'output'): Json {
    const converted = z.toJSONSchema(z.object({ schema }), { io, override: simplify });
    const { $defs = {}, properties } = pointIntoComponents(converted);
    Object.assign(this.schemas, $defs);
    return properties.schema;
  }
}

// zod's pattern of a time is 200 characters long and says no more than the format; `readOnly` would mean that
// a client must not send it, and not that nobody changes it; a safe integer is the bound of every number in JSON.
function simplify({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  delete jsonSchema.readOnly;
}

interface Converted {
  readonly $defs?: Readonly<Record<string, unknown>>;
  readonly properties: { readonly schema: Json };
}

function pointIntoComponents(schema: unknown): Converted {
  return JSON.parse(
    JSON.stringify(schema).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/'),
  ) as Converted;
}
