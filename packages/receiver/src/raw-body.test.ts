import { connect } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import Koa from 'koa';
import { webhooks as forExpress } from './express';
import { webhooks as forFastify } from './fastify';
import { webhooks as forFetch } from './fetch';
import { webhooks as forKoa } from './koa';
import { webhooks as forLambda } from './lambda';
import { type Posted, postWebhook } from './testing/post-webhook';
import { type ServedAdapter, serve } from './testing/serve-adapters';
import { BODY, SECRET, signStandard } from './testing/sign-webhook';

const handled: unknown[] = [];
const options = {
  secret: SECRET,
  on: { 'brief.created': async (event: { readonly data: unknown }) => handled.push(event.data) },
  onError: () => {},
};

let served: ServedAdapter | undefined;
beforeEach(() => {
  handled.length = 0;
});
afterEach(async () => {
  await served?.close();
  served = undefined;
});

async function post(listener: Parameters<typeof serve>[0]): Promise<Posted> {
  served = await serve(listener);
  return await postWebhook(served.port);
}

describe('a body that was parsed before', () => {
  const names = (remedy: RegExp) => ({
    status: 500,
    text: expect.stringMatching(new RegExp(`^body_already_parsed: .*${remedy.source}`)),
  });

  it('is a mistake that Express is told how to mend', async () => {
    const app = express().use(express.json()).post('/webhooks', forExpress(options));
    expect(await post(app)).toMatchObject(names(/before app\.use\(express\.json\(\)\)/));
    expect(handled).toEqual([]);
  });

  it('is one also when Express has it as text, which may be other bytes', async () => {
    const app = express()
      .use(express.text({ type: '*/*' }))
      .post('/webhooks', forExpress(options));
    expect(await post(app)).toMatchObject(names(/express\.json/));
  });

  it('is a mistake that Koa is told how to mend', async () => {
    const app = new Koa();
    app.use(async (context, next) => {
      Object.assign(context.request, {
        body: JSON.parse(Buffer.concat(await context.req.toArray()).toString()),
      });
      await next();
    });
    expect(await post(app.use(forKoa(options)).callback())).toMatchObject(names(/before the body parser/));
  });

  it('is one also where something asked for text, in Express and in Koa', async () => {
    const app = express()
      .use((request, _response, next) => {
        request.setEncoding('utf8');
        next();
      })
      .post('/webhooks', forExpress(options));
    expect(await post(app)).toMatchObject(names(/leave that call out/));
    await served?.close();
    const koa = new Koa().use(async ({ req }, next) => {
      req.setEncoding('utf8');
      await next();
    });
    expect(await post(koa.use(forKoa(options)).callback())).toMatchObject(names(/leave that call out/));
    expect(handled).toEqual([]);
  });

  it('is a mistake that whoever uses fetch is told how to mend', async () => {
    const request = new Request('http://receiver/', { method: 'POST', headers: signStandard(), body: BODY });
    await request.json();
    const response = await forFetch(options)(request);
    expect(response.status).toBe(500);
    expect(await response.text()).toMatch(/^body_already_parsed: .*before request\.json\(\)/);
  });

  it('is one also in an event of Lambda', async () => {
    const body = JSON.parse(BODY) as string;
    expect(await forLambda(options)({ headers: signStandard(), body })).toMatchObject({
      statusCode: 500,
      body: expect.stringMatching(/^body_already_parsed: /),
    });
  });
});

describe('a body that was read before', () => {
  it('is taken from Express where the bytes were kept', async () => {
    const raw = express()
      .use(express.raw({ type: '*/*' }))
      .post('/webhooks', forExpress(options));
    expect(await post(raw)).toMatchObject({ status: 204 });
    await served?.close();
    const verify = (request: object, _response: unknown, rawBody: Buffer) =>
      Object.assign(request, { rawBody });
    const kept = express().use(express.json({ verify })).post('/webhooks', forExpress(options));
    expect(await post(kept)).toMatchObject({ status: 204 });
    expect(handled).toHaveLength(2);
  });

  it('is not one where the parser left it alone', async () => {
    const app = express()
      .use(express.urlencoded({ extended: true }))
      .post('/webhooks', forExpress(options));
    expect(await post(app)).toMatchObject({ status: 204 });
  });
});

it("leaves the rest of Fastify's routes their parsers", async () => {
  const app = fastify({ forceCloseConnections: true });
  await app.register(forFastify({ path: '/webhooks', ...options }));
  app.post('/other', async ({ body }) => ({ parsed: body }));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  try {
    const headers = { 'content-type': 'application/json' };
    const other = await fetch(`${url}/other`, { method: 'POST', headers, body: '{"a":1}' });
    expect(await other.json()).toEqual({ parsed: { a: 1 } });
    const hook = await fetch(`${url}/webhooks`, { method: 'POST', headers: signStandard(), body: BODY });
    expect(hook.status).toBe(204);
  } finally {
    await app.close();
  }
});

it('takes from Fastify also what something made text of', async () => {
  const app = fastify({ forceCloseConnections: true });
  app.addHook('onRequest', async ({ raw }) => {
    raw.setEncoding('utf8');
  });
  await app.register(forFastify({ path: '/webhooks', ...options }));
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  try {
    const hook = await fetch(`${url}/webhooks`, { method: 'POST', headers: signStandard(), body: BODY });
    expect(hook.status).toBe(204);
  } finally {
    await app.close();
  }
});

it('takes text from Lambda, and headers as payload 2.0 has them', async () => {
  const event = { version: '2.0', headers: signStandard(), body: BODY, isBase64Encoded: false };
  expect(await forLambda(options)(event)).toEqual({ statusCode: 204, headers: {}, body: '' });
  expect(await forLambda(options)({ headers: null, body: null })).toMatchObject({ statusCode: 401 });
});

it('gives up a body whose sender hung up', async () => {
  let tell = (_error: unknown) => {};
  const told = new Promise<unknown>((resolve) => {
    tell = resolve;
  });
  const app = express().post('/webhooks', forExpress({ ...options, onError: (error) => tell(error) }));
  served = await serve(app);
  const socket = connect(served.port, '127.0.0.1');
  const head = 'POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n';
  socket.write(`${head}{"type"`, () => socket.destroy());
  expect(await told).toMatchObject({ message: expect.stringMatching(/aborted|hung up/) });
  expect(handled).toEqual([]);
});
