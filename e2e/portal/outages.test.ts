import { capabilities } from '@hookferry/core/domain/account';
import { keys } from '@hookferry/core/domain/keys';
import { letLapse } from '@hookferry/core/testing/let-lapse';
import { hasPostgres, NO_POSTGRES } from '@hookferry/core/testing/postgres-server';
import { redisAnswers } from '@hookferry/core/testing/redis-answers';
import { Queue } from 'bullmq';
import type { Page } from 'playwright-core';
import { RedisServer } from '../support/redis-server';
import { QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkWidth } from './support/check-width';
import { FrontProxy } from './support/front-proxy';
import { type SwitchedReceiver, startSwitchedReceiver } from './support/switched-receiver';
import { go, Portal } from './support/use-portal';

const STALE = 'What you see may be old; the page looks again by itself.';
/** What browsers say of a response that was none. */
const NO_RESPONSE = /responded with 503|net::ERR_/;

if (!hasPostgres) console.warn(`SKIPPED: what the portal shows without PostgreSQL, because ${NO_POSTGRES}.`);

let redis: RedisServer;
let portal: Portal;
let proxy: FrontProxy;
let sink: SwitchedReceiver;
let webhookId: string;
let deliveryId: string;
let replayId: string;
let letterId: string;

beforeAll(async () => {
  redis = await RedisServer.start();
  portal = await Portal.start({ redisUrl: redis.url, hasHistory: hasPostgres });
  proxy = await FrontProxy.start(portal.client.baseUrl);
  sink = await startSwitchedReceiver(204);
  ({ id: webhookId } = await portal.client.register(sink.receiver.url, [QUICK_WIN.type], {
    description: 'Warehouse',
  }));
  deliveryId = await deliver();
  const replay = await portal.client.expect<{ id: string }>(
    202,
    'POST',
    `/v1/webhooks/${webhookId}/replays`,
    {
      since: '2026-01-01T00:00:00Z',
      mode: 'failed',
    },
  );
  replayId = replay.body.id;
  letterId = await loseEvent();
});
afterEach(async () => {
  proxy.heal();
  if (!(await redisAnswers(redis.port))) await redis.start();
  await portal.stack.postgres?.start();
  await portal.client.waitUntilReady();
  await portal.closePages();
});
afterAll(async () => {
  await portal.stop();
  await Promise.all([proxy.stop(), sink.receiver.stop(), redis.remove()]);
});

async function deliver(): Promise<string> {
  const eventId = await portal.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await portal.client.waitForStatus(webhookId, eventId, 'delivered');
  return `${eventId}.${webhookId}`;
}

/** The id of a dead letter. */
async function loseEvent(): Promise<string> {
  const events = new Queue('events', { connection: portal.stack.redis.client });
  await events.add('no.such_type', { account_id: 'default', id: 'lost', data: {} });
  await events.close();
  return await until(async () => {
    const { body } = await portal.client.expect<{ data: { id: string }[] }>(200, 'GET', '/v1/dead-letters');
    return body.data[0]?.id;
  });
}

/** A page behind the proxy, of an operator. */
async function signIn(path: string): Promise<Page> {
  const page = await portal.signIn({ path, capabilities, origin: proxy.origin });
  await page.getByText('Live', { exact: true }).waitFor();
  return page;
}

/** From now on it may meet what an outage brings, and nothing else; it must meet that. */
function expectOutage(page: Page): void {
  portal.faultsOf(page).expect(NO_RESPONSE);
}

async function rename(description: string): Promise<void> {
  await portal.client.expect(200, 'PATCH', `/v1/webhooks/${webhookId}`, { description });
}

/** What each shows when it is well. */
const flows = () =>
  [
    ['/overview', 'given up after the last retry'],
    ['/deliveries', 'Delivered'],
    [`/deliveries/${deliveryId}`, 'Time line'],
    ['/events', 'Published'],
    ['/webhooks', '100%'],
    [`/webhooks/${webhookId}`, 'Settings'],
    [`/webhooks/${webhookId}/transformation`, 'Begin with a template'],
    ['/event-types', 'What happened'],
    ['/audit-log', '127.0.0.1'],
    ['/contacts', 'No contacts'],
    ['/operations', 'Accounts with most waiting'],
  ] as const;

/** Those of one thing, which nobody opens first. */
const pagesOfOne = () =>
  [
    [`/events/${deliveryId.split('.')[0]}`, 'Where it went'],
    [`/event-types/${QUICK_WIN.type}`, 'Schema of data'],
    [`/replays/${replayId}`, 'Done'],
    ['/contacts/notifications', 'No messages'],
    ['/accounts', 'Weight'],
    ['/accounts/default', 'Issue a key'],
    ['/dead-letters', 'no.such_type'],
    [`/dead-letters/${encodeURIComponent(letterId)}`, 'Retry'],
  ] as const;

/** It has a heading and says in plain words what is wrong, in place of what it can't show or beside what it had. */
async function expectPlainWords(page: Page): Promise<void> {
  // All pages ask again at once, on a machine that may be busy.
  await page.getByRole('alert').or(page.getByText(STALE)).first().waitFor();
  expect(await page.locator('h1').count()).toBe(1);
  expect(await page.getByText('This page does not work').count()).toBe(0);
}

async function expectWell(page: Page, text: string): Promise<void> {
  await page.getByText(text).and(page.locator(':visible')).first().waitFor();
  await page.getByRole('alert').first().waitFor({ state: 'detached' });
  await page.getByText(STALE).waitFor({ state: 'detached' });
}

describe('while the stream of changes is cut', () => {
  it('goes on by itself when a proxy has ended it', async () => {
    const page = await signIn(`/webhooks/${webhookId}`);
    expectOutage(page);
    const isLost = page.getByText('Not live', { exact: true }).waitFor();
    proxy.cut();
    await isLost;
    await page.getByText('Live', { exact: true }).waitFor();
    await rename('Warehouse, by the stream');
    await page.getByRole('heading', { level: 1, name: 'Warehouse, by the stream' }).waitFor();
  });

  it('has no page that needs it: each goes on, can be gone to, and is live again by itself', async () => {
    const all = [...flows(), ...pagesOfOne()];
    const page = await signIn('/outcomes/timeout');
    await page.getByRole('heading', { name: 'All outcomes of an attempt' }).waitFor();
    expectOutage(page);
    proxy.refuse(/^GET \/v1\/stream/);
    await page.getByText('Not live', { exact: true }).waitFor();
    for (const [path, text] of all) {
      await go(page, path);
      await page.getByText(text).and(page.locator(':visible')).first().waitFor();
      expect(await page.getByText('This page does not work').count()).toBe(0);
    }
    proxy.heal();
    await page.getByText('Live', { exact: true }).waitFor();
  });

  it('can be worked in: an event is published, found, redelivered and counted', async () => {
    const page = await signIn('/overview?range=1h');
    expectOutage(page);
    proxy.refuse(/^GET \/v1\/stream/);
    await page.getByText('Not live', { exact: true }).waitFor();
    const attempts = page.locator('dl[aria-label="All of this time"] > div').filter({ hasText: /^Attempts/ });
    const countOf = async () => Number(/\d+/.exec(await attempts.innerText())?.[0]);
    await until(async () => (await countOf()) > 0 || undefined);
    const before = await countOf();

    await go(page, '/events');
    await page.getByRole('button', { name: 'Publish an event' }).click();
    const dialog = page.getByRole('dialog', { name: 'Publish an event' });
    await dialog.getByLabel('Event type').selectOption(QUICK_WIN.type);
    await dialog.getByLabel('Its data').fill('{"keyword":"unstreamed","position":1,"volume":1}');
    await dialog.getByRole('button', { name: 'Publish' }).click();
    await page.waitForURL(/\/portal\/events\/evt_/);
    const story = page.getByRole('list', { name: 'Time line' });
    await story.getByText('1 attempt').waitFor();

    await page.keyboard.press('/');
    await page.keyboard.type('keyword=unstreamed');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/portal\/events\?data=/);
    const found = page.getByRole('table', { name: 'Events' }).locator('tbody tr[data-index]');
    await until(async () => (await found.count()) === 1 || undefined);
    await found.getByRole('link').click();
    await story.getByRole('link').click();
    await page.getByRole('button', { name: 'Redeliver' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Redeliver' }).click();
    const steps = page.getByRole('region', { name: 'Time line' }).getByRole('listitem');
    await steps.getByText('Attempt 2, by hand: HTTP 204').waitFor();

    await go(page, '/overview?range=1h');
    await until(async () => (await countOf()) >= before + 2 || undefined);
  });

  it('says that it is not live, looks every few seconds, and is live again by itself', async () => {
    const page = await signIn(`/webhooks/${webhookId}`);
    expectOutage(page);
    proxy.refuse(/^GET \/v1\/stream/);
    await page.getByText('Not live', { exact: true }).waitFor();
    await rename('Warehouse, by looking');
    await page.getByRole('heading', { level: 1, name: 'Warehouse, by looking' }).waitFor();
    expect(await page.getByText(STALE).count()).toBe(0);
    await go(page, '/deliveries');
    await page.getByRole('table', { name: 'Deliveries' }).getByText('Delivered').first().waitFor();
    proxy.heal();
    // The pause between two tries may have grown meanwhile.
    await page.getByText('Live', { exact: true }).waitFor();
  });

  it('receives in the page again, where that was its receiver', async () => {
    await portal.client.expect(201, 'POST', '/v1/accounts', { id: 'receiving' });
    const page = await portal.signIn({
      path: '/overview',
      account_id: 'receiving',
      capabilities: ['read', 'webhooks', 'secrets', 'publish'],
      origin: proxy.origin,
    });
    expectOutage(page);
    const steps = page.getByRole('region', { name: 'First steps' });
    await steps.getByRole('button', { name: 'Receive in this page' }).click();
    await steps.getByText('This page receives').waitFor();
    const isBack = page.waitForResponse(/\/v1\/listeners\/[^/]+\/stream$/);
    proxy.cut();
    await isBack;
    await steps.getByRole('button', { name: 'Publish', exact: true }).click();
    await page
      .getByRole('list', { name: 'Received requests' })
      .getByText(/webhook-signature: v1,/)
      .waitFor();
    await steps.getByText('HTTP 204').waitFor();
    await steps.getByRole('link', { name: 'this page' }).waitFor();
    await steps.getByRole('button', { name: 'Stop receiving' }).click();
    await steps.getByRole('button', { name: 'Receive in this page' }).waitFor();
  });
});

describe('while the service itself can not be reached', () => {
  it('says so on a page that nobody has been to yet, and shows it once it can', async () => {
    const page = await portal.signIn({ path: '/webhooks', capabilities, origin: proxy.origin });
    // The last one that is loaded ahead.
    await page.waitForResponse(/\/assets\/dead-letter-page-.*\.js$/);
    expectOutage(page);
    proxy.refuse(/./);
    await go(page, '/contacts');
    await page.getByRole('heading', { level: 1, name: 'Contacts' }).waitFor();
    await page.getByText('The service can’t be reached').waitFor();
    await checkWidth(page);
    const field = page.getByRole('searchbox', { name: 'Find' });
    await field.fill('Warehouse, any');
    await field.press('Enter');
    await page.getByText('There was no response. Check your connection.').first().waitFor();
    proxy.heal();
    await expectWell(page, 'No contacts');
  });
});

describe('while Redis is away', () => {
  it.each([
    ['main', flows],
    ['other', pagesOfOne],
  ] as const)(
    'keeps what each of the %s pages had and says that it may be old, says so on others, and recovers by itself',
    async (_which, list) => {
      const all = list();
      const pages = await Promise.all(all.map(async ([path]) => await signIn(path)));
      await Promise.all(all.map(async ([, text], index) => await expectWell(pages[index] as Page, text)));
      for (const page of pages) expectOutage(page);
      await redis.kill();
      await Promise.all(pages.map(expectPlainWords));
      for (const [index, page] of pages.entries()) {
        const [, text = ''] = all[index] ?? [];
        expect(await page.getByText(text).count()).toBeGreaterThan(0);
      }
      const [first] = pages;
      if (first) {
        await checkAccessibility(first);
        await checkWidth(first);
      }
      const next = (index: number) => all[(index + 1) % all.length] ?? all[0];
      for (const [index, page] of pages.entries()) await go(page, next(index)[0]);
      await Promise.all(pages.map(expectPlainWords));
      await redis.start();
      await Promise.all(pages.map(async (page, index) => await expectWell(page, next(index)[1])));
    },
  );

  it('loses nothing that was filled in: it can be saved once that works', async () => {
    const page = await signIn(`/webhooks/${webhookId}/edit`);
    expectOutage(page);
    await page.getByLabel('Description').fill('Written meanwhile');
    await redis.kill();
    await page.getByRole('button', { name: 'Save' }).click();
    await page
      .getByRole('alert')
      .getByText('Redis is not reachable, or takes no writes', { exact: true })
      .first()
      .waitFor();
    expect(await page.getByLabel('Description').inputValue()).toBe('Written meanwhile');
    await redis.start();
    await portal.client.waitUntilReady();
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'Written meanwhile' }).waitFor();
  });
});

(hasPostgres ? describe : describe.skip)('while PostgreSQL is away', () => {
  const old = () => [
    ['/overview', 'given up after the last retry'] as const,
    [`/deliveries/${deliveryId}`, 'Time line'] as const,
    [`/events/${deliveryId.split('.')[0]}`, 'Where it went'] as const,
  ];

  it('says what can’t be shown, shows the rest, and recovers by itself', async () => {
    await hasMoved();
    const postgres = portal.stack.postgres;
    const pages = await Promise.all(old().map(async () => await signIn('/webhooks')));
    const list = await signIn('/webhooks');
    for (const page of [...pages, list]) expectOutage(page);
    await postgres?.stop();
    for (const [index, [path]] of old().entries()) await go(pages[index] as Page, path);
    await go(list, '/deliveries');
    await Promise.all(pages.map(async (page) => await page.getByRole('alert').first().waitFor()));
    await Promise.all(pages.map(async (page) => expect(await page.locator('h1').count()).toBe(1)));
    await list
      .getByText(/The list ends here for now|The history/)
      .first()
      .waitFor();
    await checkAccessibility(list);
    await checkWidth(list);
    // All of this is live: nothing but looking again brings it back.
    await postgres?.start();
    await Promise.all(old().map(async ([, text], index) => await expectWell(pages[index] as Page, text)));
    await list.getByRole('table', { name: 'Deliveries' }).getByText('Delivered').first().waitFor();
    await list.getByText('The list ends here for now').waitFor({ state: 'detached' });
  });

  /** The history alone has it. */
  async function hasMoved(): Promise<void> {
    await until(async () => {
      const rows = await portal.stack.postgres?.query<{ count: string }>(
        'SELECT count(*) AS count FROM webhook_deliveries',
      );
      return Number(rows?.[0]?.count ?? 0) > 0 || undefined;
    });
    await until(async () => {
      await letLapse(portal.stack.redis.client);
      return (await portal.stack.redis.client.zcard(keys.ended)) === 0 || undefined;
    });
    await letLapse(portal.stack.redis.client);
  }
});
