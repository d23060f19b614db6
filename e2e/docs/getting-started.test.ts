import { until } from '../support/until';
import { blocksOf, readPage } from './read-page';
import { Reader } from './reader';

describe('the page Getting started', () => {
  let reader: Reader;

  beforeAll(async () => {
    reader = await Reader.start({ RETRY_SCHEDULE: '1s,1s' });
  });
  afterAll(() => reader.stop());

  it('leads to verified deliveries, a retry and a rotated secret by what can be pasted from it', async () => {
    const { terminal } = reader;
    const blocks = blocksOf(await readPage('getting-started.md'), 'sh').map((block) => reader.adapt(block));
    const [
      start,
      talk,
      addTypes,
      register,
      receive,
      publish,
      fail,
      look,
      rotate,
      restart,
      publishAgain,
      cleanUp,
      ...rest
    ] = blocks;
    expect(start).toBe('npm start');
    expect(rest).toEqual([]);

    expect(await terminal.paste(talk)).toContain('"data":[]');
    expect(await terminal.paste(addTypes)).toMatch(/"order\.created"[^]*"order\.paid"/);
    expect(await terminal.paste(register)).toContain('"secret":"whsec_');
    await terminal.paste(receive);
    await receiverListens();
    const unsigned = { method: 'POST', body: '{}' };
    expect((await fetch(`http://127.0.0.1:${reader.receiverPort}`, unsigned)).status).toBe(401);
    await terminal.waitFor(/^receiver: responded with 401: .*header.*\n/m);

    await terminal.paste(publish);
    await terminal.waitFor(/attempt 1: 204\n/);
    await terminal.paste(fail);
    await terminal.waitFor(/attempt 1: 500\n[^]*attempt 2: 204\n/);
    await terminal.waitFor(/"status":"delivered","attempt_count":2/, look);

    await terminal.paste(rotate);
    await terminal.waitFor(/(attempt 1: 204[^]*){2}/);
    await terminal.paste(restart);
    await receiverListens();
    await terminal.paste(publishAgain);
    await terminal.waitFor(/(attempt 1: 204[^]*){3}/);

    // What the page's own readiness check asks is no delivery, and what fails is told in a line.
    expect(terminal.output).not.toMatch(/undefined|^ +at /m);
    await terminal.paste(cleanUp);
    expect(await terminal.paste('api webhooks')).toContain('"data":[]');
  });

  async function receiverListens(): Promise<void> {
    await until(async () => await fetch(`http://127.0.0.1:${reader.receiverPort}`).catch(() => undefined));
  }
});
