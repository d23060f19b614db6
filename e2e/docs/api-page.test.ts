import { addTypes } from '../support/samples';
import { blocksOf, examplesOf, readPage } from './read-page';
import { Reader } from './reader';

/** What differs from one run to the next. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>'],
  [/whsec_[A-Za-z0-9+/=]+/g, '<secret>'],
  [/\b(wh|evt)_[0-9a-z]{22}/g, '<$1>'],
  [/127\.0\.0\.1:\d+/g, '<receiver>'],
];

it('the page of the API names every route', async () => {
  const page = await readPage('api.md');
  const { paths } = JSON.parse(await readPage('openapi.json')) as { readonly paths: Record<string, object> };
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `\`${method.toUpperCase()} ${path}\``),
  );
  expect(routes.filter((route) => !page.includes(route))).toEqual([]);
});

it('pages that publish or open the portal say first for which account', async () => {
  const [link] = blocksOf(await readPage('portal.md'), 'sh');
  expect(link).toContain('X-Account-Id: acme');
  const [, accounts = ''] = (await readPage('publishing.md')).split(/^## /m);
  expect(accounts).toMatch(/^For which account\n[^]*`X-Account-Id`[^]*`account`[^]*`accountId`/);
});

describe('the page of the API', () => {
  let reader: Reader;

  beforeAll(async () => {
    reader = await Reader.start();
    await addTypes(reader.client);
    const [, talk = ''] = blocksOf(await readPage('getting-started.md'), 'sh');
    await reader.terminal.paste(reader.adapt(talk));
  });
  afterAll(() => reader.stop());

  it('shows requests as they can be pasted, and what they get', async () => {
    const examples = examplesOf(await readPage('api.md'));
    expect(examples.length).toBeGreaterThan(0);
    for (const { commands, response } of examples) {
      if (commands.includes('deliveries?')) {
        await reader.terminal.waitFor(/"status":"held"/, reader.adapt(commands));
      }
      const printed = await reader.terminal.paste(reader.adapt(commands));
      expect(steady(printed)).toEqual(steady(response));
    }
  });
});

function steady(json: string): unknown {
  const text = VARYING.reduce((former, [varying, name]) => former.replace(varying, name), json);
  // The page shows one hour of the 24.
  return JSON.parse(text, (name, value: unknown) =>
    name === 'hours' ? (value as unknown[]).slice(-1) : value,
  );
}
