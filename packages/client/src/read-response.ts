import { WebhooksApiError } from './api-error';
import { readRetryAfter } from './retry-after';
import type { components } from './schema';

/** A response that was read to its end. */
export interface TextResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

type Problem = Pick<components['schemas']['Problem'], 'code' | 'detail' | 'errors' | 'request_id'>;

/**
 * The data of a response; undefined if it has none.
 *
 * @param request method and path, for the message
 * @throws WebhooksApiError if it does not come from the API
 */
export function readData(request: string, response: TextResponse): unknown {
  if (response.text === '') return undefined;
  const data = isJson(response) ? parseJson(response.text) : undefined;
  if (data === undefined) throw unexpectedResponse(request, response);
  return data;
}

/** The error of a response other than 2xx. */
export function readProblem(request: string, response: TextResponse): WebhooksApiError {
  const problem = isJson(response) ? parseJson(response.text) : undefined;
  if (!isProblem(problem)) return unexpectedResponse(request, response);
  return new WebhooksApiError(request, {
    status: response.status,
    code: problem.code,
    detail: problem.detail,
    errors: problem.errors ?? [],
    requestId: problem.request_id,
    retryAfterSeconds: retryAfterOf(response),
  });
}

/** For a response that does not come from the API. */
export function unexpectedResponse(request: string, response: Omit<TextResponse, 'text'>): WebhooksApiError {
  const isRedirect = response.status === 0 || (response.status >= 300 && response.status < 400);
  const type = response.headers.get('content-type') ?? 'no content type';
  return new WebhooksApiError(request, {
    status: response.status,
    code: 'unexpected_response',
    detail: isRedirect
      ? 'the response is a redirect. Use the address that it leads to as baseUrl.'
      : `the response (${type}) does not come from the API. Check baseUrl, and any proxy between you and the service.`,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: retryAfterOf(response),
  });
}

function retryAfterOf({ headers }: Omit<TextResponse, 'text'>): number | undefined {
  return readRetryAfter(headers.get('retry-after'), Date.now());
}

function isJson({ headers }: TextResponse): boolean {
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
