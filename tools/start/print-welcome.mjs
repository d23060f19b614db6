// @ts-check
import { relative } from 'node:path';
import { messageOf } from '../problem.mjs';
import { projectFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';

/**
 * Where everything is, and how to go on.
 * @param {import('./start-stack.mjs').Stack} stack
 * @param {string | undefined} portalLink
 * @param {string} variables the file with the variables for a shell
 */
export function printWelcome({ apiUrl, workerUrl, apiKey, redisUrl, historyUrl }, portalLink, variables) {
  const file = relative(projectFolder, variables);
  const lines = [
    `API       ${apiUrl}`,
    `metrics   ${apiUrl}/metrics and ${workerUrl}/metrics`,
    `API key   ${apiKey}`,
    ...(redisUrl === undefined ? [] : [`Redis     REDIS_URL=${redisUrl}`]),
    ...(historyUrl === undefined ? [] : [`history   HISTORY_DATABASE_URL=${historyUrl}`]),
    `docs      ${apiUrl}/docs`,
    ...(portalLink === undefined
      ? []
      : [
          `portal    ${portalLink}`,
          '          (signs you in as the operator, once, within ten minutes;',
          `          later: the API key, at ${apiUrl}/portal/)`,
        ]),
  ];
  process.stdout.write(`
Hookferry is ready.

${lines.map((line) => `  ${line}\n`).join('')}
Go on with "Five minutes to the first webhook" in README.md, in a second terminal in this folder. It begins with:

. ${file.startsWith('.') ? file : `./${file}`}

Ctrl-C stops everything.

`);
}

/** All that a portal session may have. */
export const CAPABILITIES = [
  'read',
  'webhooks',
  'redeliver',
  'schedule',
  'publish',
  'transform',
  'secrets',
  'audit',
  'operate',
];
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
      body: JSON.stringify({ capabilities: CAPABILITIES, expires_in_seconds: A_DAY_SECONDS }),
    });
    /** @type {{ url?: string, detail?: string }} */
    const body = JSON.parse(await response.text());
    if (response.status === 201) return body.url;
    say('start', `The link to the portal could not be created: ${body.detail}`);
  } catch (error) {
    signal.throwIfAborted();
    say('start', `The link to the portal could not be created: ${messageOf(error)}`);
  }
  return undefined;
}
