// @ts-check
import { setTimeout as wait } from 'node:timers/promises';

const LOOK_EVERY_MS = 200;
const HOUR_MS = 3_600_000;
// Attempts tell of holds from a second on.
const HELD_MS = 1_500;
const LONG = 'Something-that-is-called-by-a-name-in-which-nothing-can-be-broken';
const LONGEST_ID = 'an_account_whose_id_has_as_many_characters_as_an_id_may_have__';

/** With which there are contacts; whoever is told by mail is not: nobody listens there. */
export const environmentOfAll = {
  PUBLIC_URL: 'http://localhost',
  MAIL_FROM: 'hooks@example.com',
  SMTP_URL: 'smtp://127.0.0.1:9',
};

/**
 * @typedef {object} More
 * @property {string} account One with the longest id.
 * @property {string} deadLetter The path of its page.
 * @property {string} scheduledId
 * @property {string} erasedId
 * @property {string} replayId
 * @property {string} failedId A delivery that failed.
 * @property {string} disabledId A webhook that is disabled, with all settings that there are.
 * @property {string} heldId A delivery that is held.
 * @property {string} storyId A delivery that failed, was held, and arrived.
 */
/** @typedef {import('./scene.mjs').Scene & More} WholeScene */

/**
 * Adds what the other pages show.
 * @param {import('./scene.mjs').Scene} scene
 * @param {{ redisUrl: string | undefined }} stack
 * @returns {Promise<WholeScene>}
 */
export async function completeScene(scene, { redisUrl }) {
  const { call, webhookId } = scene;
  await call('POST', '/v1/accounts', { id: LONGEST_ID, name: LONG });
  await call('POST', '/v1/api-keys', {
    name: LONG,
    scopes: ['webhooks:read', 'deliveries:read', 'audit:read'],
  });
  await addTransformation(scene);
  await addContacts(scene);
  const { data: failed } = await call('GET', '/v1/deliveries?outcome=http_5xx&limit=1');
  const replay = await call('POST', `/v1/webhooks/${webhookId}/replays`, {
    since: new Date(Date.now() - HOUR_MS).toISOString(),
    mode: 'all',
    rate: 50,
  });
  const disabledId = await addDisabled(call);
  return {
    ...scene,
    account: LONGEST_ID,
    deadLetter: await addDeadLetter(call, redisUrl),
    scheduledId: await publish(call, { deliver_at: new Date(Date.now() + 75 * HOUR_MS).toISOString() }),
    erasedId: await addErased(call),
    replayId: replay.id,
    failedId: failed[0]?.id,
    disabledId,
    heldId: `${await publish(call, { webhook_ids: [disabledId] })}.${disabledId}`,
    storyId: await addStory(scene),
  };
}

/**
 * A delivery with all that its time line can have: its webhook is disabled after the first attempt, and enabled again.
 * @param {import('./scene.mjs').Scene} scene
 * @returns {Promise<string>} its id
 */
async function addStory({ call, storyUrl }) {
  const { id } = await call('POST', '/v1/webhooks', { url: storyUrl, events: ['keyword.*'], uid: 'story' });
  const path = `/v1/deliveries/${await publish(call, { webhook_ids: [id] })}.${id}`;
  await waitFor(call, path, ({ attempt_count: count }) => count > 1);
  await call('POST', `/v1/webhooks/${id}/disable`);
  await waitFor(call, path, ({ status }) => status === 'held');
  await wait(HELD_MS);
  await call('POST', `/v1/webhooks/${id}/enable`);
  return (await waitFor(call, path, ({ status }) => status === 'delivered')).id;
}

/**
 * @param {import('./scene.mjs').Call} call
 * @param {string} path
 * @param {(delivery: any) => boolean} isReached
 */
async function waitFor(call, path, isReached) {
  for (;;) {
    const delivery = await call('GET', path);
    if (isReached(delivery)) return delivery;
    await wait(LOOK_EVERY_MS);
  }
}

/** @param {import('./scene.mjs').Scene} scene */
async function addTransformation({ call, webhookId }) {
  for (const name of ['position', 'keyword']) {
    const code = `export default ({ data }) => ({\n  body: { text: \`It is \${data.${name}} now.\` },\n});\n`;
    await call('PUT', `/v1/webhooks/${webhookId}/transformation`, { code, enabled: false });
  }
}

/** @param {import('./scene.mjs').Scene} scene */
async function addContacts({ call, webhookId }) {
  await call('POST', '/v1/contacts', { kind: 'email', address: 'ops@example.com' });
  await call('POST', '/v1/contacts', {
    kind: 'email',
    address: `${LONG.slice(0, 60)}@${LONG.slice(0, 60)}.example.com`,
    digest: 'daily',
  });
  await call('POST', '/v1/contacts', {
    kind: 'webhook',
    url: 'https://contacts.example.com/told',
    webhook_id: webhookId,
    occasions: ['disabled'],
  });
  for (;;) {
    const { data } = await call('GET', '/v1/notifications');
    if (data.length > 0) return;
    await wait(LOOK_EVERY_MS);
  }
}

/**
 * @param {import('./scene.mjs').Call} call
 * @param {object} [more]
 * @returns {Promise<string>} its id
 */
async function publish(call, more) {
  const data = { keyword: LONG, position: 11, volume: 2400 };
  return (await call('POST', '/v1/events', { type: 'keyword.quick_win', data, ...more })).id;
}

/** @param {import('./scene.mjs').Call} call */
async function addErased(call) {
  const id = await publish(call);
  await call('DELETE', `/v1/events/${id}/payload`);
  return id;
}

/** @param {import('./scene.mjs').Call} call */
async function addDisabled(call) {
  const webhook = await call('POST', '/v1/webhooks', {
    url: `https://${'long-name.'.repeat(12)}example.com/${'path/'.repeat(40)}?token=1`,
    events: ['keyword.quick_win', 'brief.*'],
    description: LONG.repeat(3),
    uid: `${LONG}-${LONG}`.slice(0, 128),
    status: 'disabled',
    rate_limit: 10_000,
    max_concurrency: 1_000,
    timeout_ms: 60_000,
    signing: 'both',
    headers: { [`x-${LONG}`.slice(0, 64)]: LONG.repeat(4) },
    metadata: { [LONG.slice(0, 64)]: LONG.repeat(4) },
    auth: { type: 'basic', username: LONG, password: 'a password' },
    filter: { keyword: LONG },
  });
  return webhook.id;
}

/**
 * @param {import('./scene.mjs').Call} call
 * @param {string | undefined} redisUrl
 * @returns {Promise<string>}
 */
async function addDeadLetter(call, redisUrl) {
  // Installed with the programs; this tool alone needs it here.
  const { Queue } = await import('bullmq');
  const queue = new Queue('events', { connection: { url: redisUrl ?? '' } });
  await queue.add('no.such_type', { account_id: 'default', id: 'one', data: { name: LONG.repeat(5) } });
  await queue.close();
  for (;;) {
    const { data } = await call('GET', '/v1/dead-letters');
    if (data.length > 0) return `/dead-letters/${data[0].id}`;
    await wait(LOOK_EVERY_MS);
  }
}
