// @ts-check
import { Problem } from '../problem.mjs';

/**
 * The three calls that the demo makes.
 * @param {object} options
 * @param {string} options.apiUrl
 * @param {string} options.apiKey
 * @param {AbortSignal} options.signal
 */
export function createApiClient({ apiUrl, apiKey, signal }) {
  /**
   * @param {string} method
   * @param {string} path
   * @param {number} expectedStatus
   * @param {unknown} [body]
   * @returns {Promise<string>}
   */
  const call = async (method, path, expectedStatus, body) => {
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      signal,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = await response.text();
    if (response.status === expectedStatus) return answer;
    throw new Problem(
      `${method} ${path} answered ${response.status} instead of ${expectedStatus}: ${answer}`,
    );
  };

  return {
    /**
     * @param {string} url
     * @returns {Promise<{ id: string, secret: string }>}
     */
    registerEndpoint: async (url) =>
      JSON.parse(await call('POST', '/v1/webhooks', 201, { url, events: ['*'] })),
    /** @param {string} id */
    deleteEndpoint: async (id) => void (await call('DELETE', `/v1/webhooks/${id}`, 204)),
    /** @param {{ type: string, data: unknown }} event */
    publishEvent: async (event) => void (await call('POST', '/v1/events', 202, event)),
  };
}
