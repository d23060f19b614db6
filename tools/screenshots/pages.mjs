// @ts-check
/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('./scene.mjs').Scene} Scene */
/** @typedef {import('./whole-scene.mjs').WholeScene} WholeScene */

/**
 * Its path, or that and what is done there first.
 * @typedef {string | { readonly path: string, readonly act: (page: Page) => Promise<unknown> }} Shown
 */
/** @typedef {Readonly<Record<string, Shown>>} Pages By name. */

/** @param {string} name */
const press = (name) => (/** @type {Page} */ page) => page.getByRole('button', { name }).first().click();

/** @param {string} label The table's. */
const openFirstOf = (label) => (/** @type {Page} */ page) =>
  page
    .getByRole('table', { name: label, exact: true })
    .locator('tbody tr[data-index]')
    .first()
    .press('Enter');

/**
 * @param {Scene} scene
 * @returns {Pages}
 */
export const mainPagesOf = ({ webhookId, deliveryId }) => ({
  overview: '/overview?range=1h',
  deliveries: '/deliveries',
  delivery: `/deliveries/${deliveryId}`,
  webhooks: '/webhooks',
  webhook: `/webhooks/${webhookId}`,
  'new-webhook': { path: '/webhooks/new', act: (page) => page.getByLabel('Chosen events').check() },
  'event-type': '/event-types/keyword.quick_win',
  operations: '/operations',
});

/**
 * What is wrong, with which webhook, with which delivery, and how it is mended.
 * @param {Scene} scene
 * @returns {Pages}
 */
export const tourOf = ({ webhookId, deliveryId }) => ({
  overview: '/overview?range=1h',
  webhook: `/webhooks/${webhookId}`,
  deliveries: `/deliveries?webhook=${webhookId}`,
  delivery: `/deliveries/${deliveryId}`,
  transformation: `/webhooks/${webhookId}/transformation`,
  operations: '/operations',
});

/**
 * Every page, and every dialog on them.
 * @param {WholeScene} scene
 * @returns {Pages}
 */
export const allPagesOf = (scene) => ({
  ...mainPagesOf(scene),
  ...customerPagesOf(scene),
  ...operatorPagesOf(scene),
  ...dialogsOf(scene),
});

/**
 * Those that an account with nothing has.
 * @type {Pages}
 */
export const emptyPages = {
  overview: '/overview',
  deliveries: '/deliveries',
  webhooks: '/webhooks',
  events: '/events',
  scheduled: '/events?status=scheduled',
  'event-types': '/event-types',
  contacts: '/contacts',
  messages: '/contacts/notifications',
  'audit-log': '/audit-log',
  outcome: '/outcomes/http_5xx',
  nowhere: '/nowhere',
  'find-nothing': { path: '/overview', act: (page) => find(page, 'nothing.like.this') },
  // The last one: its account has a webhook and an event from then on.
  'first-run': {
    path: '/overview',
    act: async (page) => {
      await page.getByRole('button', { name: 'Receive in this page' }).click();
      await page.getByRole('button', { name: 'Publish', exact: true }).click();
      await page.getByRole('list', { name: 'Received requests' }).getByRole('listitem').waitFor();
    },
  },
};

/**
 * @param {WholeScene} scene
 * @returns {Pages}
 */
const customerPagesOf = ({ webhookId, eventId, scheduledId, erasedId, replayId, failedId, ...others }) => ({
  'overview-table': { path: '/overview?range=1h', act: press('Table') },
  'overview-7d': '/overview?range=7d',
  'overview-webhook': `/overview?range=1h&webhook=${webhookId}`,
  'overview-type': '/overview?range=1h&type=keyword.quick_win',
  'delivery-failed': `/deliveries/${failedId}`,
  'delivery-held': `/deliveries/${others.heldId}`,
  'delivery-story': `/deliveries/${others.storyId}`,
  'webhook-disabled': `/webhooks/${others.disabledId}`,
  'edit-webhook': {
    path: `/webhooks/${others.disabledId}/edit`,
    act: async (page) => {
      for (const summary of await page.locator('summary').all()) await summary.click();
    },
  },
  'new-replay': `/webhooks/${webhookId}/replay`,
  replay: `/replays/${replayId}`,
  transformation: `/webhooks/${webhookId}/transformation`,
  events: '/events',
  event: `/events/${eventId}`,
  'event-table': { path: `/events/${eventId}`, act: press('As a table') },
  scheduled: '/events?status=scheduled',
  'event-scheduled': `/events/${scheduledId}`,
  'event-erased': `/events/${erasedId}`,
  'event-types': '/event-types',
  outcome: '/outcomes/http_5xx',
  contacts: '/contacts',
  messages: '/contacts/notifications',
  'audit-log': '/audit-log',
});

/**
 * @param {WholeScene} scene
 * @returns {Pages}
 */
const operatorPagesOf = ({ account, deadLetter }) => ({
  accounts: '/accounts',
  account: '/accounts/default',
  'account-long': `/accounts/${account}`,
  'dead-letters': '/dead-letters',
  'dead-letter': deadLetter,
});

/**
 * @param {WholeScene} scene
 * @returns {Pages}
 */
const dialogsOf = ({ webhookId, scheduledId, failedId, deadLetter }) => ({
  'ask-send-again': { path: `/deliveries/${failedId}`, act: press('Send again') },
  'ask-disable': { path: `/webhooks/${webhookId}`, act: press('Disable') },
  'ask-delete': { path: `/webhooks/${webhookId}`, act: press('Delete') },
  'ask-rotate': { path: `/webhooks/${webhookId}`, act: press('Rotate…') },
  'ask-remove': { path: `/webhooks/${webhookId}/transformation`, act: press('Remove') },
  publish: { path: '/events', act: press('Publish an event') },
  'ask-move': { path: `/events/${scheduledId}`, act: press('Move') },
  'ask-cancel': { path: `/events/${scheduledId}`, act: press('Cancel') },
  'ask-put-back': { path: deadLetter, act: press('Put back') },
  'ask-drop': { path: deadLetter, act: press('Drop') },
  'ask-revoke': { path: '/accounts/default', act: press('Revoke') },
  'ask-remove-contact': { path: '/contacts', act: press('Remove') },
  'new-contact': { path: '/contacts', act: press('Add a contact') },
  'edit-contact': { path: '/contacts', act: openFirstOf('Contacts') },
  message: { path: '/contacts/notifications', act: openFirstOf('Messages') },
  'audit-entry': { path: '/audit-log', act: openFirstOf('Audit log') },
  'new-account': { path: '/accounts', act: press('New account') },
  'new-key': { path: '/accounts/default', act: press('Issue a key') },
  find: {
    path: '/deliveries',
    act: async (page) => {
      await find(page, 'hook');
      await page.getByRole('list', { name: 'Found' }).waitFor();
    },
  },
});

/**
 * @param {Page} page
 * @param {string} text
 */
async function find(page, text) {
  await page.keyboard.press('/');
  await page.getByLabel('Find', { exact: true }).fill(text);
  await page.keyboard.press('Enter');
  await page.getByText('Looking …').waitFor({ state: 'detached' });
}
