import { createClosables } from '@hookferry/core/testing/closables';
import { Queue } from 'bullmq';
import type { Page } from 'playwright-core';
import { ApiClient } from '../support/api-client';
import { Receiver } from '../support/receiver';
import { QUICK_WIN } from '../support/samples';
import { until } from '../support/until';
import { checkAccessibility } from './support/check-accessibility';
import { checkSteadiness } from './support/check-steadiness';
import { checkWidth } from './support/check-width';
import { go, usePortal } from './support/use-portal';

const portal = usePortal({ environment: { RETRY_SCHEDULE: '1h' } });
const { willClose, closeAll } = createClosables();
afterEach(closeAll);

const OPERATOR = { capabilities: ['read', 'webhooks', 'redeliver', 'secrets', 'operate'] } as const;
const NARROW = 360;

/** Runs in the page. */
const DIRECTION_OF_PROXY = `getComputedStyle(
  [...document.querySelectorAll('li > span')].find(({ textContent }) => textContent.startsWith('TRUST_PROXY')),
).direction`;

const signIn = (path: string, width?: number): Promise<Page> =>
  portal().signIn({ ...OPERATOR, path, ...(width !== undefined && { width }) });

const rowOf = (page: Page, table: string, text: string) =>
  page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text });

async function createAccount(id: string): Promise<ApiClient> {
  const { client } = portal();
  await client.expect(201, 'POST', '/v1/accounts', { id, name: `${id} Ltd` });
  const scopes = ['webhooks:read', 'webhooks:write', 'events:write', 'deliveries:read', 'admin'];
  const ofAccount = { 'x-account-id': id };
  const { body } = await client.expect<{ key: string }>(
    201,
    'POST',
    '/v1/api-keys',
    { name: `of ${id}`, scopes },
    ofAccount,
  );
  return new ApiClient(client.baseUrl, body.key);
}

describe('accounts', () => {
  it('are made, listed, and changed in their weight, quota and retention', async () => {
    const page = await signIn('/accounts');
    await page.getByRole('button', { name: 'New account' }).click();
    await page.getByLabel('Id').fill('made-here');
    await page.getByLabel('Name').fill('Made here');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Made here' }).waitFor();

    await page.getByLabel('Weight').fill('7');
    await page.getByLabel('Quota, MiB').fill('1');
    await page.getByText('That is 1 MiB.').waitFor();
    await page.getByLabel('Retention of its history').fill('30d');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('0 B of 1 MiB').waitFor();
    const { body } = await portal().client.expect(200, 'GET', '/v1/accounts/made-here');
    const limits = { weight: 7, quota_bytes: 1_048_576, history_retention: '30d' };
    expect(body).toMatchObject({ name: 'Made here', ...limits });

    await go(page, '/accounts');
    await rowOf(page, 'Accounts', 'made-here').getByText('7', { exact: true }).waitFor();
  });

  it('says what is wrong with what was filled in, and keeps it', async () => {
    await createAccount('taken');
    const page = await signIn('/accounts');
    portal()
      .faultsOf(page)
      .expect(/responded with 409: POST/);
    await page.getByRole('button', { name: 'New account' }).click();
    await page.getByLabel('Id').fill('taken');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('textbox', { name: 'Id' }).inputValue()).toBe('taken');
  });

  it('get keys that are shown once, work, and are refused once they are revoked', async () => {
    const own = await createAccount('with-keys');
    const page = await signIn('/accounts/with-keys');
    await page.getByRole('button', { name: 'Issue a key' }).click();
    await page.getByLabel('Name').fill('for the test');
    await page.getByLabel(/see events and deliveries/).uncheck();
    await checkAccessibility(page);
    await page.getByRole('button', { name: 'Issue', exact: true }).click();
    const key = (await page.getByRole('group', { name: 'The API key' }).innerText()).trim();
    // A key or a click beside it would lose what can't be shown again.
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'I have it' }).click();
    expect(await page.content()).not.toContain(key);

    const issued = new ApiClient(portal().client.baseUrl, key);
    expect((await issued.request('GET', '/v1/webhooks')).status).toBe(200);
    expect((await issued.request('GET', '/v1/events')).status).toBe(403);
    await rowOf(page, 'API keys', 'for the test').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
    // What is behind a dialog is not there for those who find things by their roles.
    await page.getByRole('alertdialog').waitFor({ state: 'detached' });
    await rowOf(page, 'API keys', 'for the test').waitFor({ state: 'detached' });
    expect((await issued.request('GET', '/v1/webhooks')).status).toBe(401);

    portal()
      .faultsOf(page)
      .expect(/responded with 409: DELETE/);
    await rowOf(page, 'API keys', 'of with-keys').getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('the last key of the account').waitFor();
    await page.getByRole('button', { name: 'Revoke it all the same' }).click();
    await page.getByText('No API keys').waitFor();
    expect((await own.request('GET', '/v1/webhooks')).status).toBe(401);
  });

  it('are seen as their owners see them, and left again; the page of another one shows that one meanwhile', async () => {
    const own = await createAccount('seen');
    await createAccount('beside');
    const receiver = await Receiver.start();
    willClose({ close: () => receiver.stop() });
    await own.register(`${receiver.url}/of-seen`);
    const page = await signIn('/accounts/seen');
    await page.getByRole('button', { name: 'See what the customer sees' }).click();
    await go(page, '/webhooks');
    await page.getByText('/of-seen').first().waitFor();
    expect(await page.getByLabel('Account in view').inputValue()).toBe('seen');

    await go(page, '/accounts/beside');
    await rowOf(page, 'API keys', 'of beside').waitFor();
    await go(page, '/webhooks');
    await page.getByText('/of-seen').first().waitFor();
    await page.getByLabel('Account in view').selectOption('default');
    await page.getByText('/of-seen').first().waitFor({ state: 'detached' });
  });
});

describe('dead letters', () => {
  async function pushInvalid(id: string): Promise<void> {
    const events = new Queue('events', { connection: portal().stack.redis.client });
    await events.add('no.such_type', { account_id: 'default', id, data: {} });
    await events.close();
  }

  async function untilListed(count: number): Promise<void> {
    await until(async () => {
      const { body } = await portal().client.expect<{ data: object[] }>(200, 'GET', '/v1/dead-letters');
      return body.data.length === count ? true : undefined;
    });
  }

  it('are listed, looked into, put back, and dropped', async () => {
    await pushInvalid('one');
    await untilListed(1);
    await pushInvalid('two');
    await untilListed(2);
    const page = await signIn('/dead-letters');
    await rowOf(page, 'Dead letters', 'no.such_type').nth(1).waitFor();
    await page.getByLabel('Queue').selectOption('replays');
    await page.getByText('No dead letters').waitFor();
    await page.getByLabel('Queue').selectOption('events');

    await rowOf(page, 'Dead letters', 'no.such_type').first().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('group', { name: 'The job’s data' }).getByText('"id": "two"').waitFor();
    await checkAccessibility(page);
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Retry' }).click();
    await page.getByText('It is back on the queue events.').waitFor();
    // It is as invalid as before.
    await untilListed(2);

    await go(page, '/operations');
    await go(page, '/dead-letters');
    await rowOf(page, 'Dead letters', 'no.such_type').last().getByRole('link').click();
    await page.getByRole('button', { name: 'Drop' }).click();
    await checkAccessibility(page);
    await page.getByRole('alertdialog').getByRole('button', { name: 'Drop' }).click();
    await page.getByText('It was dropped.').waitFor();
    await untilListed(1);
  });
});

describe('operations', () => {
  it('shows what waits and is held, who is busy, which workers live, and how the numbers go', async () => {
    const own = await createAccount('busy');
    const receiver = await Receiver.start(() => 'never');
    willClose({ close: () => receiver.stop() });
    const webhook = await own.register(`${receiver.url}/busy`);
    await own.expect(200, 'POST', `/v1/webhooks/${webhook.id}/disable`);
    const published = [1, 2, 3].map(() => own.publish(QUICK_WIN.type, QUICK_WIN.data));
    await Promise.all(published);

    const page = await signIn('/operations');
    const now = page.getByRole('region', { name: 'Now' });
    await now.getByText('Webhooks disabled').waitFor();
    await rowOf(page, 'Queues', 'deliveries').waitFor();
    await page.getByText('Their webhook is disabled', { exact: true }).waitFor();
    await page.getByLabel('Why').selectOption('disabled');
    await rowOf(page, 'Stopped webhooks', '/busy').waitFor();
    await now.getByRole('img', { name: /^Deliveries held: from .* since the page was opened/ }).waitFor();
    await rowOf(page, 'Workers', ' of ').waitFor();
    await checkAccessibility(page);

    await rowOf(page, 'Stopped webhooks', '/busy').click();
    await page.getByText('/busy').first().waitFor();
    expect(page.url()).toContain(`/portal/webhooks/${webhook.id}`);
    expect(await page.getByLabel('Account in view').inputValue()).toBe('busy');
  });

  it('pauses an account: its deliveries wait until it is resumed, and then arrive', async () => {
    const own = await createAccount('paused');
    const receiver = await Receiver.start();
    willClose({ close: () => receiver.stop() });
    const webhook = await own.register(`${receiver.url}/paused`);
    const page = await signIn('/accounts/paused');
    await page.getByRole('button', { name: 'Pause deliveries…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Its 1 webhook gets no deliveries until you resume the account.').waitFor();
    await checkAccessibility(page);
    await dialog.getByLabel('Reason').fill('Too loud');
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('The account paused is paused.').waitFor();
    await page.getByText(/^Paused since .*: Too loud$/).waitFor();
    await checkAccessibility(page);

    await own.publish(QUICK_WIN.type, QUICK_WIN.data);
    await until(async () => {
      const path = `/v1/webhooks/${webhook.id}`;
      const { body } = await own.expect<{ health: { held: number } }>(200, 'GET', path);
      return body.health.held === 1 ? true : undefined;
    });
    expect(receiver.requests).toHaveLength(0);
    await go(page, '/operations');
    const row = rowOf(page, 'Paused accounts', 'Too loud');
    await row.waitFor();
    await checkAccessibility(page);
    // The row goes, and its button with it, before the response is there.
    await page.route('**/resume', async (route) => {
      const response = await route.fetch();
      await row.waitFor({ state: 'detached' });
      await route.fulfill({ response });
    });
    await row.getByRole('button', { name: /^Resume/ }).click();
    await page.getByText('The account paused is resumed').waitFor();
    await receiver.waitFor(1);
  });

  it('pauses the queue of deliveries, and takes it back from the note about it', async () => {
    const own = await createAccount('waits');
    const receiver = await Receiver.start();
    willClose({ close: () => receiver.stop() });
    await own.register(`${receiver.url}/waits`);
    const page = await signIn('/operations');
    await page.getByRole('button', { name: 'Pause deliveries…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('No account gets deliveries until you resume the queue.').waitFor();
    await dialog.getByLabel('Reason').fill('The network is down');
    await dialog.getByRole('button', { name: 'Pause' }).click();
    const banner = page.getByRole('alert').filter({ hasText: 'The queue deliveries is paused' });
    await banner.getByText('The network is down').waitFor();
    await page
      .getByRole('region', { name: 'Queues' })
      .getByText(/The network is down/)
      .waitFor();
    await own.publish(QUICK_WIN.type, QUICK_WIN.data);
    await until(async () => {
      const { body } = await portal().client.expect<{ queues: { name: string; waiting: number }[] }>(
        200,
        'GET',
        '/v1/operations',
      );
      return body.queues.some(({ name, waiting }) => name === 'deliveries' && waiting === 1)
        ? true
        : undefined;
    });
    expect(receiver.requests).toHaveLength(0);
    await page
      .getByText('The queue deliveries is paused.')
      .locator('..')
      .getByRole('button', { name: 'Resume' })
      .click();
    await receiver.waitFor(1);
    await banner.waitFor({ state: 'detached' });
  });

  it('says on every page that a queue is paused, until it is resumed', async () => {
    const deliveries = new Queue('deliveries', { connection: portal().stack.redis.client });
    await deliveries.pause();
    const page = await signIn('/operations');
    const banner = page.getByRole('alert').filter({ hasText: 'The queue deliveries is paused' });
    await banner.getByRole('link', { name: 'Operations' }).waitFor();
    await rowOf(page, 'Queues', 'deliveries').getByText('paused').waitFor();
    await checkAccessibility(page);
    await go(page, '/accounts');
    await banner.waitFor();
    await deliveries.resume();
    await banner.waitFor({ state: 'detached' });
    await deliveries.close();
  });

  it('shows the last day, and the accounts that used most of it, as charts and as tables', async () => {
    const own = await createAccount('heavy');
    for (let i = 0; i < 3; i += 1) await own.publish(QUICK_WIN.type, QUICK_WIN.data);
    const used = async () => {
      const { body } = await portal().client.expect<{ data: { account_id: string }[] }>(
        200,
        'GET',
        '/v1/operations/accounts?by=bytes',
      );
      return body.data.some(({ account_id: id }) => id === 'heavy') ? true : undefined;
    };
    await until(used);

    const page = await signIn('/operations');
    const figure = (name: string) => page.getByRole('figure', { name });
    await figure('Events accepted, by account').locator('canvas').waitFor();
    await rowOf(page, 'Accounts with the most use', 'heavy').getByText('3', { exact: true }).waitFor();
    await figure('Workers that run').locator('canvas').waitFor();
    await checkAccessibility(page);
    const workers = figure('Workers that run');
    await workers.getByRole('button', { name: 'Table' }).click();
    await workers.getByRole('row').nth(1).getByRole('cell', { name: '1', exact: true }).waitFor();

    const accounts = figure('Events accepted, by account');
    await accounts.getByRole('button', { name: 'Table' }).focus();
    await page.keyboard.press('Enter');
    await accounts.getByRole('columnheader', { name: 'heavy' }).waitFor();
    await checkAccessibility(page);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      accounts.getByRole('button', { name: 'CSV' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('events-accepted-by-account.csv');
    await page.getByLabel('By', { exact: true }).selectOption('transform_ms');
    await page.getByText('No account has used any in the last 24 hours.').waitFor();
    await page.getByLabel('By', { exact: true }).selectOption('bytes');
    await rowOf(page, 'Accounts with the most use', 'heavy').getByRole('link').click();
    await page.getByRole('heading', { name: 'heavy Ltd' }).waitFor();
  });

  it('looks closer at the part of the last day that is drawn', async () => {
    const page = await signIn('/operations');
    const over = page.getByRole('figure', { name: 'Workers that run' }).locator('.u-over');
    await over.waitFor();
    await over.scrollIntoViewIfNeeded();
    const at = await over.boundingBox();
    if (!at) throw new Error('The chart is not there.');
    await page.mouse.move(at.x + at.width / 2, at.y + 50);
    await page.mouse.down();
    await page.mouse.move(at.x + at.width - 2, at.y + 60, { steps: 5 });
    await page.mouse.up();
    await page.waitForURL(/operations\?.*since=/);
    await page.getByRole('button', { name: 'All of the last day' }).click();
    await page.waitForURL(/operations$/);
  });

  it('says what is missing for production, with what leads to help, and no secret', async () => {
    const page = await signIn('/operations');
    const required = page.getByRole('list', { name: 'Required for production' });
    const advised = page.getByRole('list', { name: 'Advised for production' });
    const history = advised.getByRole('listitem').filter({ hasText: 'History' });
    await history.getByText(process.env['TEST_HISTORY'] === '1' ? 'there' : 'missing').waitFor();
    const proxy = required.getByRole('listitem').filter({ hasText: 'Addresses of clients' });
    await proxy.getByText('missing').waitFor();
    await required.getByRole('listitem').filter({ hasText: 'Memory of Redis' }).waitFor();
    const link = await history.getByRole('link', { name: 'How to: History' }).getAttribute('href');
    expect(link).toMatch(/main\/docs\/history\.md#/);
    await required.getByRole('listitem').filter({ hasText: 'Public address' }).waitFor();
    await page.getByText(/^Before production: \d of 8 to look at; advised: \d of 7$/).click();
    await advised.waitFor({ state: 'hidden' });
    await required.waitFor({ state: 'hidden' });
  });

  it('says what is missing in the language of the reader, and in that of the service what is newer', async () => {
    const path = '/v1/operations/readiness';
    interface Found {
      readonly check: string;
      readonly detail: string;
    }
    const { body } = await portal().client.expect<{ checks: readonly Found[] }>(200, 'GET', path);
    const [newer, ...others] = body.checks;
    const prepare = async (page: Page) =>
      await page.route(`**${path}`, async (route) => {
        const json = { is_ready: false, checks: [{ ...newer, code: 'newer_than_the_page' }, ...others] };
        await route.fulfill({ json });
      });
    const page = await portal().signIn({ ...OPERATOR, path: '/operations', locale: 'de-DE', prepare });
    await page.getByText('MAIL_FROM ist für die API nicht gesetzt').waitFor({ state: 'attached' });
    const shown = await page.locator('details').allTextContents();
    const english = body.checks.filter(({ detail }) => shown.join('').includes(detail.replaceAll('`', '')));
    expect(english.map(({ check }) => check)).toEqual([newer?.check]);
  });

  it('says it from right to left where that is read so, also what begins with the name of a setting', async () => {
    const page = await portal().signIn({ ...OPERATOR, path: '/operations', locale: 'ar' });
    await page.getByText(/^TRUST_PROXY/).waitFor({ state: 'attached' });
    expect(await page.evaluate(DIRECTION_OF_PROXY)).toBe('rtl');
  });

  it('does not move while it loads, nor does any page of operators', async () => {
    await createAccount('steady');
    const page = await signIn('/operations');
    await page.getByRole('table', { name: 'Queues' }).waitFor();
    await checkSteadiness(page);
    for (const [path, heading] of [
      ['/accounts', 'Accounts'],
      ['/accounts/steady', 'steady Ltd'],
      ['/dead-letters', 'Dead letters'],
    ] as const) {
      await go(page, path);
      await page.getByRole('heading', { name: heading }).waitFor();
      await page.locator('[aria-busy="true"], [aria-label="Loading"]').first().waitFor({ state: 'detached' });
      await checkSteadiness(page);
    }
  });

  it('fits into a narrow window, as all pages of operators do', async () => {
    await createAccount('narrow');
    const page = await signIn('/operations', NARROW);
    await page.getByRole('table', { name: 'Queues' }).waitFor();
    await checkWidth(page);
    for (const [path, heading] of [
      ['/accounts', 'Accounts'],
      ['/accounts/narrow', 'narrow Ltd'],
      ['/dead-letters', 'Dead letters'],
    ] as const) {
      await go(page, path);
      await page.getByRole('heading', { name: heading }).waitFor();
      await checkWidth(page);
      await checkAccessibility(page);
    }
  });
});
