// @ts-check
import { messageOf } from '../problem.mjs';
import { say } from '../say.mjs';

const CAPABILITIES = ['read', 'endpoints', 'resend', 'secrets', 'operate'];
const A_DAY_SECONDS = 86_400;

/**
 * A link that opens the portal signed in as the operator, once and within ten minutes; `undefined`, with a word why, where
 * the API makes none: it is of use without one.
 * @param {object} options
 * @param {string} options.apiUrl
 * @param {string} options.apiKey
 * @param {AbortSignal} options.signal
 * @returns {Promise<string | undefined>}
 */
export async function createPortalLink({ apiUrl, apiKey, signal }) {
  if (process.env['PORTAL'] === 'false') return undefined;
  try {
    const response = await fetch(`${apiUrl}/v1/portal-sessions`, {
      method: 'POST',
      signal,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ capabilities: CAPABILITIES, expires_in: A_DAY_SECONDS }),
    });
    /** @type {{ url?: string, detail?: string }} */
    const answer = JSON.parse(await response.text());
    if (response.status === 201) return answer.url;
    say('start', `no link to the portal: ${answer.detail}`);
  } catch (error) {
    signal.throwIfAborted();
    say('start', `no link to the portal: ${messageOf(error)}`);
  }
  return undefined;
}
