import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import express, { type Express } from 'express';
import request from 'supertest';
import { beginTestRequest } from '../testing/begin-test-request';
import { mountPortal } from './portal';
import { answerProblems, createRefuseUnknownRoute } from './problem';
import { setHeads } from './send-reply';

describe('portal', () => {
  const PAGE = '<!doctype html><title>Portal</title>';
  const SCRIPT = 'console.log("portal");'.repeat(100);
  const SCRIPT_PATH = '/portal/assets/index-B2x9.js';

  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portal-'));
    await mkdir(join(folder, 'dist', 'assets'), { recursive: true });
    await writeFile(join(folder, 'secret.txt'), 'not for browsers');
    await writeFile(join(folder, 'dist', 'index.html'), PAGE);
    const script = join(folder, 'dist', 'assets', 'index-B2x9.js');
    await writeFile(script, SCRIPT);
    await writeFile(`${script}.br`, brotliCompressSync(SCRIPT));
    await writeFile(`${script}.gz`, gzipSync(SCRIPT));
    const other = join(folder, 'dist', 'assets', 'index-C3y0.js');
    await writeFile(other, SCRIPT);
    await writeFile(`${other}.gz`, gzipSync(SCRIPT));
  });
  afterAll(() => rm(folder, { recursive: true }));

  function createPortal(frameAncestors: readonly string[] = [], name = 'dist'): Express {
    const app = express();
    app.disable('etag');
    app.use(beginTestRequest);
    app.use(setHeads);
    mountPortal(app, { folder: join(folder, name), frameAncestors });
    app.use(createRefuseUnknownRoute([]));
    app.use(answerProblems(() => {}));
    return app;
  }

  describe('the portal', () => {
    it.each(['/portal/', '/portal/deliveries', '/portal/deliveries/evt_1.wh_2', '/portal/index.html'])(
      'is the page at %s, which is asked for again each time',
      async (path) => {
        const response = await request(createPortal()).get(path);
        expect(response).toMatchObject({ status: 200, text: PAGE, type: 'text/html' });
        expect(response.headers['cache-control']).toBe('no-cache');
      },
    );

    it('is found without the last slash', async () => {
      const response = await request(createPortal()).get('/portal');
      expect(response).toMatchObject({ status: 302, headers: { location: 'portal/' } });
    });

    it('has files that never change under their names', async () => {
      const response = await request(createPortal()).get(SCRIPT_PATH);
      expect(response).toMatchObject({ status: 200, text: SCRIPT, type: 'text/javascript' });
      expect(response.headers['cache-control']).toContain('immutable');
    });

    it.each([
      ['br', 'gzip, br'],
      ['gzip', 'gzip, br;q=0'],
      [undefined, 'identity'],
    ])(
      'sends the coding %s to "Accept-Encoding: %s", each under a tag of its own',
      async (coding, accepted) => {
        const response = await getRaw(SCRIPT_PATH, { 'accept-encoding': accepted });
        const bytes = { br: brotliCompressSync(SCRIPT), gzip: gzipSync(SCRIPT) }[coding ?? ''] ?? SCRIPT;
        expect(response.bytes.equals(Buffer.from(bytes))).toBe(true);
        expect(response.headers['content-encoding']).toBe(coding);
        expect(response.headers['content-length']).toBe(String(bytes.length));
        expect(response.headers.vary).toBe('Accept-Encoding');
        expect(response.headers.etag).toMatch(new RegExp(`^"[\\w-]{22}-${coding ?? 'identity'}"$`));
      },
    );

    it.each([
      [undefined, undefined],
      ['', undefined],
      ['gzip', 'gzip'],
      ['br', 'br'],
      ['gzip, deflate, br, zstd', 'br'],
      ['GZIP;q=0.5, BR;Q=0.2', 'gzip'],
      ['br;q=0, gzip', 'gzip'],
      ['br; q=0.9 , gzip ;q=1.0', 'gzip'],
      ['br;q=0, gzip;q=0.000', undefined],
      ['*', 'br'],
      ['*;q=0.5, br;q=0', 'gzip'],
      ['identity', undefined],
      ['identity, gzip;q=0.5', undefined],
      ['gzip;q=0.001', 'gzip'],
      ['identity;q=0, br', 'br'],
      ['identity;q=0', undefined],
      ['*;q=0', undefined],
      ['br;q=oops', undefined],
      ['deflate, zstd', undefined],
      [',,;;q=1', undefined],
    ])('answers "Accept-Encoding: %s" by %s', async (accepted, coding) => {
      const response = await getRaw(
        SCRIPT_PATH,
        accepted === undefined ? {} : { 'accept-encoding': accepted },
      );
      expect(response.headers['content-encoding']).toBe(coding);
    });

    it.each([
      ['/portal/assets/index-C3y0.js', 'gzip'],
      ['/portal/', undefined],
    ])('chooses among the codings that there are: %s by %s', async (path, coding) => {
      const response = await getRaw(path, { 'accept-encoding': 'br, gzip' });
      expect(response.headers['content-encoding']).toBe(coding);
    });

    it('sends nothing again to a client that has it, and answers HEAD without a body', async () => {
      const app = createPortal();
      const head = await request(app).head(SCRIPT_PATH).set('accept-encoding', 'identity');
      expect(head.status).toBe(200);
      expect(head.headers['content-length']).toBe(String(SCRIPT.length));
      expect(head.text).toBeUndefined();
      const again = request(app).get(SCRIPT_PATH).set('accept-encoding', 'identity');
      expect((await again.set('if-none-match', String(head.headers.etag))).status).toBe(304);
    });

    it.each([
      '/portal/assets/gone-1.js',
      '/portal/assets/',
      '/portal/assets/index-B2x9.js.br',
      '/portal/assets/%2e%2e/index.html',
      '/portal/assets/..%2f..%2fsecret.txt',
      '/portal/assets/../../secret.txt',
      '/portal/../secret.txt',
      '/portal/..%2fsecret.txt',
      '/portal/%2e%2e%2fsecret.txt',
      '/portal//etc/passwd',
      '/portal/..\\secret.txt',
    ])('has nothing but the page and its files: not %s', async (path) => {
      const { status, bytes } = await getRaw(path);
      const body = bytes.toString();
      expect([400, 404, body === PAGE ? 200 : 'the page alone']).toContain(status);
      expect(body).not.toContain('not for browsers');
    });

    it('says how it is built where it was not', async () => {
      const response = await request(createPortal([], 'none')).get('/portal/');
      expect(response.status).toBe(404);
      expect(response.body.detail).toContain('npm run build -w @hookferry/portal-app');
    });

    it('takes nothing', async () => {
      expect((await request(createPortal()).post('/portal/')).status).toBe(404);
    });
  });

  describe("the portal's headers", () => {
    const POLICY =
      "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;font-src 'self';" +
      "connect-src 'self';base-uri 'none';form-action 'none'";

    it.each(['/portal/', SCRIPT_PATH, '/portal/settings.json', '/portal/assets/gone.js'])(
      'let nobody frame %s unless told otherwise, and let it load nothing from elsewhere',
      async (path) => {
        const { headers } = await request(createPortal()).get(path);
        expect(headers['content-security-policy']).toBe(`${POLICY};frame-ancestors 'none'`);
        expect(headers).toMatchObject({
          'x-frame-options': 'DENY',
          'cross-origin-opener-policy': 'same-origin',
          'x-content-type-options': 'nosniff',
          'referrer-policy': 'no-referrer',
        });
        expect(headers['set-cookie']).toBeUndefined();
      },
    );

    it('let those frame it who are named, which the page is told too', async () => {
      const ancestors = ['https://app.example.com', 'http://localhost:8080'];
      const app = createPortal(ancestors);
      const { headers } = await request(app).get('/portal/');
      expect(headers['content-security-policy']).toBe(`${POLICY};frame-ancestors ${ancestors.join(' ')}`);
      expect(headers['x-frame-options']).toBeUndefined();
      expect(headers['cross-origin-opener-policy']).toBeUndefined();
      const settings = await request(app).get('/portal/settings.json');
      expect(settings.body).toEqual({
        frame_ancestors: ancestors,
        entry_url: null,
        operator_name: null,
        session_storage: 'memory',
      });
      expect(settings.headers['cache-control']).toBe('no-store');
    });
  });

  /** As it stands: clients such as supertest's resolve dots before they ask, and decode what they get. */
  async function getRaw(path: string, headers: Readonly<Record<string, string>> = {}) {
    const server = createPortal().listen(0);
    const { port } = server.address() as AddressInfo;
    try {
      const sent = get({ port, path, headers: { ...headers, connection: 'close' } });
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      return { status: response.statusCode ?? 0, headers: response.headers, bytes: await buffer(response) };
    } finally {
      server.close();
    }
  }
});
