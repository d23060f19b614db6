import type { ErrorCode } from '@hookferry/core/kernel/app-error';
import { PROBLEM_TYPE, statusOf, titleOf } from '../http/problem';
import type { Route } from '../http/route';
import type { Json } from './components';

/** What can become of a request to any route: it needs a good key or code, a known query and the store. */
const OF_ALL: readonly ErrorCode[] = [
  'unauthenticated',
  'invalid_request',
  'rate_limited',
  'storage_unavailable',
];
/** Of one that needs a key: that has scopes, and an account. */
const OF_KEY: readonly ErrorCode[] = ['insufficient_scope', 'operator_only', 'not_found'];
const OF_BODY: readonly ErrorCode[] = ['malformed_json', 'payload_too_large', 'unsupported_media_type'];
const OF_IDEMPOTENCY_KEY: readonly ErrorCode[] = [
  'request_in_progress',
  'answer_not_kept',
  'conflict',
  'idempotency_key_reused',
];

const RETRY_AFTER = {
  'Retry-After': { description: 'Seconds until it makes sense to ask again.', schema: { type: 'integer' } },
};

/** The errors that a route can answer, by status. They follow from what it is and from those that it names. */
export function problemResponses(route: Route): Record<string, Json> {
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

/** For what can befall any request, such as a fault of ours. */
export const anyProblem = { description: 'Any other error.', ...problemContent() };

function codesOf({ scope, request, creates, stores, problems = [] }: Route): readonly ErrorCode[] {
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
