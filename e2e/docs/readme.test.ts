import { signBody } from '@hookferry/core/deliver/send-attempt';
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

  const send = async (signature: string, body = BODY) =>
    (await fetch(url, { method: 'POST', headers: { 'x-service-signature': signature }, body })).status;

  it('leads to a verified delivery by what can be pasted from it', async () => {
    const { terminal } = reader;
    const [start, receive, register, publish, look, ...rest] = blocks;
    expect(start).toMatch(/^npm start/);
    expect(rest).toEqual([]);

    await terminal.paste(receive);
    await until(async () => (await send('').catch(() => undefined)) && true);
    expect(await terminal.paste(register)).toContain('"status":"enabled"');
    expect(await terminal.paste(publish)).toContain('"id":"evt_');
    await terminal.waitFor(/verified: \{"type":"keyword\.quick_win"/);

    const secret = (await terminal.paste('echo $WEBHOOK_SECRET')).trim();
    expect(await send(signBody(secret, BODY))).toBe(204);
    expect(await send(signBody(secret, `${BODY} `))).toBe(401);
    expect(await send(signBody(`${secret}x`, BODY))).toBe(401);
    expect(await send('')).toBe(401);
    expect(await send(`sha256=${'ü'.repeat(64)}`)).toBe(401);

    await until(async () =>
      (await terminal.paste(look)).includes('"status":"delivered"') ? true : undefined,
    );
  });
});
