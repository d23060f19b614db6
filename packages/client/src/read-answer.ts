import { WebhooksApiError } from './api-error';
import { readRetryAfter } from './retry-after';
import type { components } from './schema';

/** An answer that was read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

type Problem = Pick<components['schemas']['Problem'], 'code' | 'detail' | 'errors' | 'request_id'>;

/**
 * The data of an answer; undefined if it has none.
 *
 * @param request method and path, for the message
 * @throws WebhooksApiError if it does not come from the API
 */
export function readData(request: string, answer: Answer): unknown {
  if (answer.text === '') return undefined;
  const data = isJson(answer) ? parseJson(answer.text) : undefined;
  if (data === undefined) throw unexpectedAnswer(request, answer);
  return data;
}

/** The error of an answer other than 2xx. */
export function readProblem(request: string, answer: Answer): WebhooksApiError {
  const problem = isJson(answer) ? parseJson(answer.text) : undefined;
  if (!isProblem(problem)) return unexpectedAnswer(request, answer);
  return new WebhooksApiError(request, {
    status: answer.status,
    code: problem.code,
    detail: problem.detail,
    errors: problem.errors ?? [],
    requestId: problem.request_id,
    retryAfterSeconds: retryAfterOf(answer),
  });
}

/** For an answer that does not come from the API. */
export function unexpectedAnswer(request: string, answer: Omit<Answer, 'text'>): WebhooksApiError {
  const isRedirect = answer.status === 0 || (answer.status >= 300 && answer.status < 400);
  const type = answer.headers.get('content-type') ?? 'no content type';
  return new WebhooksApiError(request, {
    status: answer.status,
    code: 'unexpected_answer',
    detail: isRedirect
      ? 'the answer is a redirect. Use the address that it leads to as baseUrl.'
      : `the answer (${type}) does not come from the API. Check baseUrl, and any proxy between you and the service.`,
    requestId: answer.headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: retryAfterOf(answer),
  });
}

function retryAfterOf({ headers }: Omit<Answer, 'text'>): number | undefined {
  return readRetryAfter(headers.get('retry-after'), Date.now());
}

function isJson({ headers }: Answer): boolean {
  return /^application\/(problem\+)?json\b/i.test(headers.get('content-type') ?? '');
}

/** Undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isProblem(value: unknown): value is Problem {
  if (typeof value !== 'object' || value === null) return false;
  const { code, detail } = value as Record<string, unknown>;
  return typeof code === 'string' && typeof detail === 'string';
}
