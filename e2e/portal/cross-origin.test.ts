import { findClosedPort } from '@hookferry/core/testing/local-server';
import type { Page } from 'playwright-core';
import type { ApiClient } from '../support/api-client';
import { HostSite } from './support/host-site';
import { usePortal } from './support/use-portal';

const portal = usePortal({ workers: 0 });

let listed: HostSite;
let unlisted: HostSite;
let api: ApiClient;
let token: string;
beforeAll(async () => {
  [listed, unlisted] = await Promise.all([HostSite.start(), HostSite.start()]);
  ({ client: api } = await portal().stack.startApi({ PORTAL_ALLOWED_ORIGINS: listed.origin }));
  const link = await api.expect<{ url: string }>(201, 'POST', '/v1/portal-sessions', {});
  const code = link.body.url.split('#code=')[1];
  const opened = await api.expect<{ token: string }>(200, 'POST', '/v1/portal-sessions/exchange', { code });
  token = opened.body.token;
});
afterAll(() => Promise.all([listed, unlisted].map((site) => site.stop())));

interface Answer {
  /** Absent: the browser kept the response from the page. */
  readonly status?: number;
  readonly body?: Body | undefined;
  /** Those that the page may read. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Body {
  readonly code?: string;
  readonly detail?: string;
  readonly id?: string;
}

interface Call {
  readonly method?: string;
  readonly path: string;
  readonly bearer?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

async function pageOf(site: HostSite): Promise<Page> {
  site.frames();
  const page = await (await portal().browser.newContext()).newPage();
  await page.goto(site.origin);
  return page;
}

async function callFrom(page: Page, call: Call): Promise<Answer> {
  return await page.evaluate(
    async ({ base, method = 'GET', path, bearer, headers = {}, body }) => {
      const response = await fetch(base + path, {
        method,
        headers: {
          ...headers,
          ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }).catch(() => undefined);
      if (!response) return {};
      return {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: (await response.json().catch(() => undefined)) as Body | undefined,
      };
    },
    { base: api.baseUrl, ...call },
  );
}

const WEBHOOK = { url: 'https://example.com/hook', events: ['*'] };

it('lets a page of a listed origin use the token of a session, and read what it needs of the response', async () => {
  const page = await pageOf(listed);
  const made = await callFrom(page, {
    method: 'POST',
    path: '/v1/webhooks',
    bearer: token,
    headers: { 'idempotency-key': 'one-webhook' },
    body: WEBHOOK,
  });
  expect(made.status).toBe(201);
  expect(made.headers).toMatchObject({
    etag: expect.any(String),
    location: `/v1/webhooks/${made.body?.id}`,
    ratelimit: expect.stringContaining('r='),
    'x-request-id': expect.any(String),
  });
  const path = `/v1/webhooks/${made.body?.id}`;
  const headers = {
    'if-match': made.headers?.['etag'] ?? '',
    'content-type': 'application/merge-patch+json',
  };
  const changed = await callFrom(page, {
    method: 'PATCH',
    path,
    bearer: token,
    headers,
    body: { rate_limit: 5 },
  });
  expect(changed.status).toBe(200);
  expect((await callFrom(page, { method: 'DELETE', path, bearer: token })).status).toBe(204);
  // Refusals too: a program decides by their code.
  const gone = await callFrom(page, { path, bearer: token });
  expect(gone).toMatchObject({ status: 404, body: { code: 'not_found' } });
  await page.context().close();
});

it('lets it exchange the code of a link, and follow the stream', async () => {
  const page = await pageOf(listed);
  const link = await api.expect<{ url: string }>(201, 'POST', '/v1/portal-sessions', {});
  const code = link.body.url.split('#code=')[1];
  const opened = await callFrom(page, {
    method: 'POST',
    path: '/v1/portal-sessions/exchange',
    body: { code },
  });
  expect(opened).toMatchObject({ status: 200, body: { id: expect.any(String) } });
  const begun = await page.evaluate(
    async ({ url, bearer }) => {
      const response = await fetch(url, {
        headers: { authorization: `Bearer ${bearer}`, 'last-event-id': '' },
      });
      const reader = response.body?.getReader();
      const first = await reader?.read();
      await reader?.cancel();
      return new TextDecoder().decode(first?.value);
    },
    { url: `${api.baseUrl}/v1/stream`, bearer: token },
  );
  expect(begun).toContain('retry:');
  await page.context().close();
});

it('keeps everything from a page of an origin that is not listed', async () => {
  const page = await pageOf(unlisted);
  const before = await api.request<{ data: unknown[] }>('GET', '/v1/webhooks');
  const call = { method: 'POST', path: '/v1/webhooks', bearer: token, body: WEBHOOK };
  expect(await callFrom(page, call)).toEqual({});
  expect(await callFrom(page, { path: '/v1/webhooks', bearer: token })).toEqual({});
  // It was not carried out either.
  const after = await api.request<{ data: unknown[] }>('GET', '/v1/webhooks');
  expect(after.body.data).toHaveLength(before.body.data.length);
  await page.context().close();
});

it('refuses an API key from any other origin, also from a listed one, and says why', async () => {
  const page = await pageOf(listed);
  const call = { method: 'POST', path: '/v1/webhooks', bearer: portal().stack.bootstrapKey, body: WEBHOOK };
  const refused = await callFrom(page, call);
  expect(refused).toMatchObject({ status: 403, body: { code: 'insufficient_scope' } });
  expect(refused.body?.detail).toContain('no API key');
  const { body } = await api.request<{ data: { url: string }[] }>('GET', '/v1/webhooks');
  expect(body.data.map(({ url }) => url)).not.toContain(WEBHOOK.url);
  await page.context().close();
});

it('still lets operators sign in by a key on the page of the portal itself, if its origin is listed', async () => {
  const port = await findClosedPort();
  const own = `http://127.0.0.1:${port}`;
  const { client } = await portal().stack.startApi({ API_PORT: String(port), PORTAL_ALLOWED_ORIGINS: own });
  expect(client.baseUrl).toBe(own);
  const page = await (await portal().browser.newContext()).newPage();
  await page.goto(`${client.baseUrl}/portal/`);
  await page.getByLabel('API key').fill(portal().stack.bootstrapKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').first().waitFor();
  await page.context().close();
});
