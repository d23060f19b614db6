// @ts-check
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, Problem } from '../problem.mjs';

const ASK_EVERY_MS = 50;
const ANSWER_TIMEOUT_MS = 2000;
const GIVE_UP_AFTER_MS = 60_000;

/**
 * Returns when it answers 200 that it is ready.
 * @param {object} options
 * @param {string} options.name
 * @param {string} options.url
 * @param {string} [options.path] where to ask
 * @param {AbortSignal} options.signal
 */
export async function waitUntilReady({ name, url, path = '/readyz', signal }) {
  const deadline = Date.now() + GIVE_UP_AFTER_MS;
  for (;;) {
    const answer = await askReadiness(url + path, signal);
    if (answer === 'ready') return;
    if (Date.now() > deadline) throw new Problem(`The ${name} did not become ready: ${url}${path} ${answer}`);
    await sleep(ASK_EVERY_MS, undefined, { signal });
  }
}

/**
 * @param {string} url
 * @param {AbortSignal} signal
 * @returns {Promise<string>} 'ready', or what is in the way
 */
async function askReadiness(url, signal) {
  try {
    const response = await fetch(url, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
    });
    const body = await response.text();
    return response.status === 200 ? 'ready' : `answers ${response.status} ${body}`;
  } catch (error) {
    return `does not answer (${messageOf(error)})`;
  }
}
