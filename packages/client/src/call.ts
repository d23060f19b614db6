import createFetchClient from 'openapi-fetch';
import type { CallOptions, Method, Page } from './call-types';
import type { CheckedOptions } from './options';
import { checkPathParams, type Params } from './path-params';
import { readData, unexpectedResponse } from './read-response';
import { routesWithIdempotencyKey } from './schema';
import { send } from './send';

/** The options of every call. */
export interface AnyInit extends CallOptions {
  readonly params?: Params;
  readonly body?: unknown;
}

export type SendCall = (method: Method, path: string, isStream: boolean, init?: AnyInit) => Promise<Response>;

const KEY_HEADER = 'Idempotency-Key';

/**
 * Makes the function that sends a call and resolves with its 2xx response. The body is not parsed yet.
 * A call that creates something gets an `Idempotency-Key`, the same for each attempt.
 */
export function createSendCall(options: CheckedOptions): SendCall {
  const http = createFetchClient<AnyPaths>({ baseUrl: options.baseUrl, headers: headersFor(options) });
  return async (method, path, isStream, { onResponse, ...init } = {}) => {
    const route = `${method.toUpperCase()} ${path}`;
    checkPathParams(route, init.params?.path);
    const takesKey = routesWithIdempotencyKey.has(route);
    const { response } = await http.request(method, path, {
      ...init,
      parseAs: 'stream',
      fetch: (request) => {
        if (takesKey && !request.headers.has(KEY_HEADER)) request.headers.set(KEY_HEADER, randomKey());
        return send(request, { isRepeatable: takesKey || method !== 'post', isStream }, options);
      },
    });
    onResponse?.({ status: response.status, headers: response.headers });
    return response;
  };
}

/** The data of a 2xx response. */
export async function readBody(request: string, response: Response): Promise<unknown> {
  const { status, headers } = response;
  return readData(request, { status, headers, text: await response.text() });
}

/** The page of a list in a 2xx response. @throws WebhooksApiError if there is none */
export async function readPage(request: string, response: Response): Promise<Page<unknown>> {
  const data = await readBody(request, response);
  if (isPage(data)) return data;
  throw unexpectedResponse(request, response);
}

function isPage(data: unknown): data is Page<unknown> {
  return typeof data === 'object' && data !== null && 'data' in data && Array.isArray(data.data);
}

function headersFor({ apiKey, account, userAgent }: CheckedOptions): Record<string, string> {
  return {
    Authorization: `Bearer ${apiKey}`,
    'User-Agent': userAgent,
    ...(account === undefined ? {} : { 'X-Account-Id': account }),
  };
}

/** Browsers have no `randomUUID` on pages without TLS. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** openapi-fetch gets one type for all paths here: `Client` has the types of each. */
interface AnyOperation {
  readonly parameters: Params;
  readonly requestBody?: { readonly content: { readonly 'application/json': unknown } };
  readonly responses: Readonly<Record<number, unknown>>;
}
type AnyPaths = Record<string, Record<Method, AnyOperation>>;
