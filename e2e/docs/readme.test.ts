import { until } from '../support/until';
import { blocksOf, readPage } from './read-page';
import { Reader } from './reader';

const BODY = '{"type":"brief.created","data":{"title":"Über uns"}}';

describe('the README', () => {
  let reader: Reader;
  let blocks: readonly string[];
  let url: string;

  beforeAll(async () => {
    reader = await Reader.start();
    blocks = blocksOf(await readPage('../README.md'), 'sh').map((block) => reader.adapt(block));
    url = `http://127.0.0.1:${reader.receiverPort}/hook`;
  });
  afterAll(() => reader.stop());

  const send = async (signature: string) =>
    (await fetch(url, { method: 'POST', headers: headersOf(signature), body: BODY })).status;

  it('leads to a verified delivery by what can be pasted from it', async () => {
    const { terminal } = reader;
    const [start, compose, type, register, receive, publish, look, cleanUp, tests, ...rest] = blocks;
    expect(start).toMatch(/^npm start/m);
    expect(compose).toMatch(/^docker compose /m);
    expect(tests).toBe('npm test');
    expect(rest).toEqual([]);

    expect(await terminal.paste(type)).toContain('"name":"order.created"');
    expect(await terminal.paste(register)).toContain('"status":"enabled"');
    await terminal.paste(receive);
    await until(async () => (await send('').catch(() => undefined)) && true);
    expect(await terminal.paste(publish)).toContain('"id":"evt_');
    await terminal.waitFor(/verified: evt_\w+ \{"id":"ord_4711"/);

    expect(await send('')).toBe(401);
    expect(await send(`v1,${'A'.repeat(43)}=`)).toBe(401);

    await until(async () =>
      (await terminal.paste(look)).includes('"status":"delivered"') ? true : undefined,
    );
    await terminal.paste(cleanUp);
    expect(await terminal.paste(look)).toContain('"code":"not_found"');
  });
});

/** Of a request that somebody else made up. */
function headersOf(signature: string) {
  return {
    'webhook-id': 'evt_made_up',
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': signature,
  };
}
