import { until } from '../support/until';
import { blocksOf, readPage } from './read-page';
import { Reader } from './reader';

it('give the backend of a product the same scopes as the page about keys', async () => {
  const scopesIn = (text = '') => [...text.matchAll(/\w+:\w+/g)].map(([scope]) => scope).sort();
  const asked = /"scopes": \[(.*)\]/.exec(await readPage('guides/customers.md'))?.[1];
  const advised = /^\*\*For the backend of your product\*\*.*?limited/ms.exec(
    await readPage('api-keys.md'),
  )?.[0];
  expect(scopesIn(asked)).toHaveLength(7);
  expect(scopesIn(advised)).toEqual(scopesIn(asked));
});

describe('the guides lead to where they say, by what can be pasted from them', () => {
  let reader: Reader;
  beforeAll(async () => {
    reader = await Reader.start({ RETRY_SCHEDULE: '1h' });
  });
  afterAll(() => reader.stop());

  /** The blocks of a page, to be pasted one after the other. */
  async function open(page: string) {
    const blocks = blocksOf(await readPage(`guides/${page}.md`), 'sh').map((block) => reader.adapt(block));
    const paste = async () => {
      const block = blocks.shift();
      if (block === undefined) throw new Error(`The guide ${page} has no more blocks.`);
      return await reader.terminal.paste(block);
    };
    /** Pastes a block until it shows this: what it shows is there a moment later. */
    const pasteUntil = async (pattern: RegExp) => {
      const block = blocks.shift();
      await until(async () => pattern.test(await reader.terminal.paste(block)) || undefined);
    };
    return { blocks, paste, pasteUntil };
  }

  it('receiving', async () => {
    const { blocks, paste } = await open('receiving');
    expect(await paste()).toContain('my-receiver');
    await paste();
    await reader.terminal.waitFor(/receiver: ready/);
    await paste();
    await reader.terminal.waitFor(/handled: ord_1/);
    expect(await paste()).toContain('missing_header');
    expect(await paste()).not.toContain('handled');
    await reader.terminal.waitFor(/204 +\d+ +manual/, 'hookferry deliveries show $DELIVERY');
    expect(await paste()).toContain('Deleted the webhook my-receiver');
    expect(blocks).toEqual([]);
  });

  it('publishing', async () => {
    const { blocks, paste, pasteUntil } = await open('publishing');
    expect(await paste()).toMatch(/order\.created is saved[^]*order\.paid is saved/);
    const first = await paste();
    expect(first).toContain('"id":"order-4711"');
    expect(await paste()).toBe(first);
    expect(await paste()).toContain('/data/total');
    expect(await paste()).toContain('"deliveries":{');
    expect(await paste()).toContain('published order-4711-paid');
    await pasteUntil(/"id":"order-4711-paid","type":"order.paid"/);
    expect(blocks).toEqual([]);
  });

  it('customers', async () => {
    const { blocks, paste } = await open('customers');
    expect(await paste()).toContain('"name":"order.created"');
    expect(await paste()).toMatch(/"acts_for_accounts":true/);
    expect(await paste()).toMatch(/"id":"acme"[^]*"id":"globex"/);
    expect(await paste()).toContain('"uid":"shop"');
    expect(await paste()).toMatch(/"id":"ord-1"[^]*"webhook_id":"wh_[^]*"id":"ord-1"/);
    expect(await paste()).toMatch(/"url":"[^"]*\/portal\/[^"]*"/);
    expect(await paste()).toContain('"status":"erasing"');
    expect(await paste()).toMatch(/^\{[^\n]*"status":"erasing"[^\n]*\n\n?$/);
    expect(blocks).toEqual([]);
  });

  it('integrating', async () => {
    const { blocks, paste, pasteUntil } = await open('integrating');
    await paste();
    expect(await paste()).toMatch(/is registered\. Its secret[^]*A test is on its way\.[^]*is up to date\./);
    await pasteUntil(/is enabled, its last failure: 20[^]*order\.created pending connect_refused/);
    expect(await paste()).toMatch(/a new secret[^]*disabled[^]*deleted/);
    expect(blocks).toEqual([]);
  });

  it('debugging', async () => {
    const { blocks, paste, pasteUntil } = await open('debugging');
    expect(await paste()).toContain('reachable');
    expect(await paste()).toContain('bad-day');
    await pasteUntil(/http_5xx/);
    await paste();
    await reader.terminal.waitFor(/204 +\d+ +manual/, 'hookferry deliveries show $DELIVERY');
    expect(await paste()).toContain('Deleted the webhook bad-day');
    expect(blocks).toEqual([]);
  });

  it('operating', async () => {
    const { blocks, paste, pasteUntil } = await open('operating');
    expect(await paste()).toContain('reachable');
    expect(await paste()).toContain('initech');
    await paste();
    await pasteUntil(/invoice\.paid/);
    expect(await paste()).toContain('is saved, as version 1');
    await pasteUntil(/id +invoice-1/);
    expect(await paste()).toContain('webhooks_queue_oldest_waiting_seconds{');
    expect(await paste()).toContain('Removed the event type invoice.paid');
    expect(blocks).toEqual([]);
  });
});
