import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClosables } from '@hookferry/core/testing/closables';
import express from 'express';
import request from 'supertest';
import { describeApi } from '../openapi/document';
import { routes } from '../routes/index';
import { startTestApi, type TestApi } from '../testing/start-test-api';
import { mountDocs } from './docs';
import { PROBLEMS } from './problem';
import { DOCS_FOLDER } from './receive-page';

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const PATHS = ['/openapi.json', '/docs', '/docs/redoc.js'];

describe("the API's description", () => {
  it('is served to programs without a key', async () => {
    const { status, headers, body } = await request(api.url).get('/openapi.json');
    expect({ status, type: headers['content-type'], version: body.openapi }).toEqual({
      status: 200,
      type: 'application/json; charset=utf-8',
      version: '3.1.0',
    });
  });

  it('is that of its routes; if this fails, run: npm run generate', async () => {
    const { body } = await request(api.url).get('/openapi.json');
    expect(body).toEqual(JSON.parse(JSON.stringify(describeApi(routes))));
  });

  it('is shown to people by a page that runs one script of our own, and nothing from elsewhere', async () => {
    const { status, headers, text } = await request(api.url).get('/docs');
    expect(status).toBe(200);
    expect(headers['content-security-policy']).toBe(
      "default-src 'none';script-src 'self';style-src 'unsafe-inline';connect-src 'self';img-src data:;worker-src blob:;frame-ancestors 'none'",
    );
    expect(text).not.toMatch(/https?:|<style/);
    const sources = [...text.matchAll(/(?:src|spec-url)="([^"]*)"/g)].map(([, path]) => `/${path}`);
    expect(sources).toEqual(['/openapi.json', '/docs/redoc.js']);
    const script = await request(api.url).get('/docs/redoc.js');
    expect({ status: script.status, type: script.headers['content-type'] }).toEqual({
      status: 200,
      type: expect.stringContaining('javascript'),
    });
    // Every other answer is as closed as ever.
    expect(script.headers['content-security-policy']).toBe("default-src 'none';frame-ancestors 'none'");
  });

  it('is also found with a slash at the end, below the prefix of a proxy too', async () => {
    const { status, headers } = await request(api.url).get('/docs/');
    expect({ status, location: headers.location }).toEqual({ status: 302, location: '../docs' });
  });

  it.each(PATHS)('is in memory once, however many ask for %s', async (path) => {
    const written: unknown[] = [];
    const app = express();
    app.use((_request, response, next) => {
      const end = response.end.bind(response);
      response.end = ((...parts: Parameters<typeof end>) => {
        written.push(parts[0]);
        return end(...parts);
      }) as typeof response.end;
      next();
    });
    mountDocs(app, DOCS_FOLDER);
    const server = willClose(app.listen(0, '127.0.0.1'));
    for (let i = 0; i < 2; i += 1) expect((await request(server).get(path)).status).toBe(200);
    const [first, second] = written;
    expect(Buffer.isBuffer(first)).toBe(true);
    expect(second).toBe(first);
  });

  it('is not there when it is switched off', async () => {
    const closed = willClose(await startTestApi({ DOCS_ENABLED: 'false' }));
    for (const path of PATHS) expect((await request(closed.url).get(path)).status).toBe(404);
  });
});

const PAGE = join(__dirname, '..', '..', '..', '..', 'docs', 'errors.md');
const ENTRY = /^- `(\w+)` \(Status: (\d{3})/gm;

describe('the page of errors', () => {
  it('lists every code with its status, once, and no other', async () => {
    const page = await readFile(PAGE, 'utf8');
    const listed = [...page.matchAll(ENTRY)].map(([, code, status]) => `${code} ${status}`);
    const answered = Object.entries(PROBLEMS).map(([code, { status }]) => `${code} ${status}`);
    expect(listed.toSorted()).toEqual(answered.toSorted());
  });
});
