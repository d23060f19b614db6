import { z } from 'zod';
import { IDEMPOTENCY_KEY_FORM } from '../http/idempotency';
import type { DeclaredResponse, Route } from '../http/route';
import { EVENTS_TYPE } from '../http/send-events';
import { NDJSON_TYPE } from '../http/send-lines';
import type { Components, Json } from './components';
import { requestExamples } from './examples';
import { problemResponses } from './problem-responses';

/** What OpenAPI calls a route. */
export function describeRoute(route: Route, components: Components): Json {
  const { operationId, summary, request, responses } = route;
  return {
    operationId,
    summary,
    description: permissionOf(route),
    tags: [tagOf(route)],
    ...(route.scope === 'none' ? { security: [] } : {}),
    parameters: [
      ...parametersOf(request.params, 'path', components),
      ...parametersOf(request.query, 'query', components),
      ...headersOf(route),
    ],
    ...(request.body === undefined ? {} : { requestBody: bodyOf(request.body, route, components) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, declared]) => [status, responseOf(declared, components)]),
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

function permissionOf({ scope, operatorOnly, handlesSecret }: Route): string {
  return [
    needsOf(scope),
    ...(operatorOnly ? ["Only for keys of the operator's account."] : []),
    ...(handlesSecret ? ['Of a portal session also the capability `secrets`.'] : []),
  ].join(' ');
}

function needsOf(scope: Route['scope']): string {
  if (scope === 'none') return 'Needs no API key.';
  return scope === 'any' ? 'Any API key will do.' : `Needs the scope \`${scope}\`.`;
}

function parametersOf(
  schema: z.ZodType | undefined,
  place: 'path' | 'query',
  components: Components,
): readonly Json[] {
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).map(([name, member]) => ({
    name,
    in: place,
    required: place === 'path',
    schema: components.ofRequest(member as z.ZodType),
  }));
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
      "Whom the request acts for. Only keys of the operator's account may name another than their own.",
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'The same request with the same key is worked on once, and gets the first answer again.',
    schema: { type: 'string', pattern: IDEMPOTENCY_KEY_FORM.source },
  },
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'The `ETag` of the state that the change is meant for.',
    schema: { type: 'string' },
  },
};

function bodyOf(schema: z.ZodType, { operationId, method, request }: Route, components: Components): Json {
  const example = requestExamples[operationId];
  const content = {
    schema: components.ofRequest(request.describedBody ?? schema),
    ...(example === undefined ? {} : { example }),
  };
  const type = method === 'patch' ? 'application/merge-patch+json' : 'application/json';
  return { required: request.mayLackBody !== true, content: { [type]: content } };
}

function responseOf(declared: DeclaredResponse, components: Components): Json {
  const { description, schema } = declared;
  if (schema === undefined) return { description };
  return { description, content: { [typeOf(declared)]: { schema: components.ofResponse(schema) } } };
}

function typeOf({ isLines, isEvents }: DeclaredResponse): string {
  if (isEvents) return EVENTS_TYPE;
  return isLines ? NDJSON_TYPE : 'application/json';
}
