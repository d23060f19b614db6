import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import PO from 'pofile';
import { QUICK_WIN } from '../support/samples';
import { checkAccessibility } from './support/check-accessibility';
import { checkWidth } from './support/check-width';
import { usePortal } from './support/use-portal';

const portal = usePortal({ workers: 0 });

/** As the message file of a language has it. */
function said(language: string, text: string): string {
  const file = join(__dirname, '../../apps/portal/src/language/messages', `${language}.po`);
  const { items } = PO.parse(readFileSync(file, 'utf8'));
  const [translation] = items.find(({ msgid }) => msgid === text)?.msgstr ?? [];
  if (!translation) throw new Error(`${language}.po has no “${text}”.`);
  return translation;
}

const writtenIn = (page: Page) =>
  page.evaluate<string>('`${document.documentElement.lang} ${document.documentElement.dir}`');

const link = (page: Page, language: string, text: string) =>
  page.getByRole('link', { name: language === 'en' ? text : said(language, text), exact: true }).first();

it('is in the language that its viewer chooses, on the same page and in the same session, from then on', async () => {
  const page = await portal().signIn({ path: '/webhooks?status=disabled' });
  await link(page, 'en', 'Webhooks').waitFor();
  expect(await writtenIn(page)).toBe('en ltr');
  await page.getByLabel('Language').selectOption('de');
  await link(page, 'de', 'Deliveries').waitFor();
  expect(await writtenIn(page)).toBe('de ltr');
  expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe('/portal/webhooks?status=disabled');
  // Loading was all that the tab was to keep it for.
  expect(await page.evaluate('sessionStorage.length')).toBe(0);
  const later = await page.context().newPage();
  await later.goto(`${portal().client.baseUrl}/portal/`);
  await later.getByRole('button', { name: said('de', 'Sign in') }).waitFor();
  await later.getByLabel(said('de', 'Language')).selectOption('en');
  await later.getByRole('button', { name: 'Sign in' }).waitFor();
});

it('is in the language of its link, whose address it does not keep, and which a choice takes precedence of', async () => {
  const page = await portal().openBlank();
  const open = async (path: string) => {
    const { body } = await portal().client.expect<{ url: string }>(201, 'POST', '/v1/portal-sessions', {
      language: 'de',
    });
    const { search, hash } = new URL(body.url);
    await page.goto(`${portal().client.baseUrl}/portal${path}${search}${hash}`);
  };
  await open('/events');
  await link(page, 'de', 'Events').waitFor();
  expect(page.url()).toBe(`${portal().client.baseUrl}/portal/events`);
  await page.getByLabel(said('de', 'Language')).selectOption('en');
  await link(page, 'en', 'Events').waitFor();
  await page.goto('about:blank');
  await open('/webhooks');
  await link(page, 'en', 'Events').waitFor();
  expect(await writtenIn(page)).toBe('en ltr');
});

it.each(['de', 'es', 'fr', 'ja'])('words its pages in %s, and each has room', async (language) => {
  const page = await portal().signIn({ path: `/?language=${language}`, width: 1_440 });
  expect(await writtenIn(page)).toBe(`${language} ltr`);
  for (const name of ['Webhooks', 'Events', 'Deliveries'] as const) {
    await link(page, language, name).click();
    await page.getByRole('heading', { level: 1, name: said(language, name) }).waitFor();
    await checkWidth(page);
  }
  await checkAccessibility(page);
});

it.each([390, 1_440])('is written from right to left where its language is, in %i px', async (width) => {
  const { client } = portal();
  await client.register('https://receiver.example.com/hooks/of/a/shop', ['*'], { description: 'Shop front' });
  const page = await portal().signIn({ path: '/webhooks?language=ar', width });
  expect(await writtenIn(page)).toBe('ar rtl');
  await page.getByRole('link', { name: 'Shop front' }).first().waitFor();
  await checkWidth(page);
  await checkAccessibility(page);
  const box = await page.getByRole('heading', { level: 1 }).boundingBox();
  expect((box?.x ?? 0) + (box?.width ?? 0)).toBeGreaterThan(width / 2);
});

it('has values beside their names, and names of webhooks in their order, where it is written from right to left', async () => {
  const { client } = portal();
  const { id } = await client.register('http://127.0.0.1:4101/hook', ['*']);
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const page = await portal().signIn({ path: `/deliveries/${eventId}.${id}?language=ar`, width: 1_280 });
  await page.locator('a > bdi', { hasText: '127.0.0.1:4101/hook' }).waitFor();
  await page.getByText('\u2068127.0.0.1:4101/hook\u2069').first().waitFor();
  await page.locator('dl > dd').first().waitFor();
  const edges = await page.evaluate<readonly string[]>(
    `[...document.querySelectorAll('dl > dd')].map((value) => getComputedStyle(value).textAlign)`,
  );
  expect(new Set(edges)).toEqual(new Set(['right']));
});

it('says in its language why an event was not sent to a webhook', async () => {
  const { client } = portal();
  const eventId = await client.publish(QUICK_WIN.type, QUICK_WIN.data);
  await client.register('https://late.example.com/hooks', ['*'], { description: 'Late' });
  const page = await portal().signIn({ path: `/events/${eventId}?language=de` });
  await page.getByText('Er wurde nach dem Ereignis registriert:').waitFor();
});

it('says in its language what is right where something is refused, and then the English reason', async () => {
  const page = await portal().signIn({ path: '/webhooks/new?language=de' });
  portal()
    .faultsOf(page)
    .expect(/responded with 422: POST .*\/v1\/webhooks$/);
  const right = said('de', 'must be an HTTPS address that the service can reach from the internet');
  const reason = said('de', 'in English: {detail}').replace('{detail}', '');
  await page.getByLabel('URL').fill('https://10.0.0.1/hook');
  await page.getByRole('button', { name: said('de', 'Create webhook') }).click();
  const alert = page.getByRole('alert');
  await alert.getByText(said('de', 'Something is not right yet')).waitFor();
  await alert.getByText(`${right} (${reason}`).waitFor();
  // The form itself checks what is typed by the same rules.
  await page.getByLabel(said('de', 'Description'), { exact: true }).fill('x'.repeat(3_000));
  await page
    .getByText(`${said('de', 'must be a text that is not too long')} (${reason}must have at most`)
    .waitFor();
});

it('is shown in a browser that names its language as its system does', async () => {
  const page = await portal().openBlank();
  await page.addInitScript(
    `Object.defineProperty(navigator, 'languages', { value: ['de_AT.UTF-8', 'en-US@posix'] })`,
  );
  await page.goto(`${portal().client.baseUrl}/portal/`);
  await page.getByRole('button', { name: said('de', 'Sign in') }).waitFor();
});
