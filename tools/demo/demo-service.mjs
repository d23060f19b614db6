// @ts-check
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Problem } from '../problem.mjs';
import { withDefaults } from '../start/environment.mjs';

// The last one may be off, and the demo publishes these types.
const OF_THE_USER = /^((REDIS_URL|HISTORY_DATABASE_URL)(_FILE)?|BUILT_IN_EVENT_TYPES)$/;

/**
 * Where the demo takes place: a folder that is removed afterwards, and never the user's own Redis, history or data,
 * where an event of the demo would go out to real endpoints.
 * @param {import('../processes/process-group.mjs').ProcessGroup} group
 */
export async function demoSurroundings(group) {
  const dataFolder = await mkdtemp(join(tmpdir(), 'webhooks-demo-'));
  group.onStopped(() => rm(dataFolder, { recursive: true, force: true }));
  // PostgreSQL does not run as root, so another user has to get into the folder.
  if (process.getuid?.() === 0) await chmod(dataFolder, 0o711);
  const rest = Object.fromEntries(Object.entries(process.env).filter(([name]) => !OF_THE_USER.test(name)));
  const environment = withDefaults(rest, {
    RETRY_SCHEDULE: '1s,5s,30s,5m', // A first retry that comes soon enough to be watched.
    HISTORY_MOVE_AFTER: '1s', // And what has ended moves soon enough, if there is a history.
    LOG_LEVEL: 'warn', // The demo and its receiver tell the story.
  });
  return { dataFolder, environment };
}

/** One event of each known type. */
export const demoEvents = [
  { type: 'keyword.quick_win', data: { keyword: 'running shoes', position: 11, volume: 2400 } },
  { type: 'brief.created', data: { brief_id: 'brf_82h1', title: 'How to choose running shoes' } },
  {
    type: 'import.completed',
    data: { import_id: 'imp_4k9x', source: 'csv', total_rows: 1200, failed_rows: 3 },
  },
];

/** The type whose first request is refused, so that a retry can be seen. */
export const REFUSED_ONCE = 'brief.created';

/**
 * Calls of the API.
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
   * @returns {Promise<any>} what the API says, if it says something
   */
  const call = async (method, path, expectedStatus, body) => {
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      signal,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status === expectedStatus) return text === '' ? undefined : JSON.parse(text);
    throw new Problem(
      `${method} ${path} responded with ${response.status} instead of ${expectedStatus}: ${text}`,
    );
  };

  return {
    call,
    /**
     * @param {string} url
     * @returns {Promise<{ id: string, secret: string }>}
     */
    registerEndpoint: async (url) => await call('POST', '/v1/webhooks', 201, { url, events: ['*'] }),
    /** @param {string} id */
    deleteEndpoint: async (id) => void (await call('DELETE', `/v1/webhooks/${id}`, 204)),
    /** @param {{ type: string, data: unknown }} event */
    publishEvent: async (event) => void (await call('POST', '/v1/events', 202, event)),
  };
}
