import { setTimeout as wait } from 'node:timers/promises';
import type { ApiClient, ApiResponse } from '../support/api-client';

const TRIES = 60;
const TRY_AGAIN_AFTER_MS = 1_000;
// Redis was away, the request took too long to come, or the same one is still being worked on.
const PASSING = new Set([408, 409, 503]);

/**
 * What a run itself wants of the service, which may just be recovering: asked for again and again, under one key so that
 * it is done once.
 */
export async function askPatiently<Body>(
  client: ApiClient,
  status: number,
  method: 'POST' | 'PUT' | 'PATCH' | 'GET' | 'DELETE',
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<ApiResponse<Body>> {
  const key = method === 'POST' ? { 'idempotency-key': `faults-${Date.now()}-${Math.random()}` } : {};
  for (let attempt = 1; ; attempt += 1) {
    const response = await client
      .request<Body>(method, path, body, { ...key, ...headers })
      .catch(() => undefined);
    // What was created by a request without a response is there already, and a PUT may replace something.
    const mayBeThere = attempt > 1 || method === 'PUT';
    const isThere = mayBeThere && status === 201 && response?.status === 200;
    if (response?.status === status || (response && isThere)) return response;
    const isPassing = response === undefined || PASSING.has(response.status);
    if (!isPassing || attempt === TRIES) {
      throw new Error(
        `${method} ${path} gave ${response?.status}, not ${status}: ${JSON.stringify(response?.body)}`,
      );
    }
    await wait(TRY_AGAIN_AFTER_MS);
  }
}
