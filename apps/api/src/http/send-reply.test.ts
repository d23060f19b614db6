import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { Connection } from '@hookferry/core/platform/recheck';
import { createClosables } from '@hookferry/core/testing/closables';
import { recordSignals } from '@hookferry/core/testing/record-signals';
import express from 'express';
import { beginTestRequest } from '../testing/begin-test-request';
import { answerProblems } from './problem';
import { sendLines } from './send-reply';

const PART = `${'x'.repeat(64 * 1024 - 1)}\n`;
const MANY = 2_000;
/** What both ends of a connection take while nobody reads; the whole answer is many times that. */
const BUFFERED_BYTES = 16 * 1024 * 1024;

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

/** A server whose only answer are these parts, and how far it has read them. */
async function serve(partsOf: (signal: AbortSignal) => AsyncGenerator<string>, signOfLifeEveryMs?: number) {
  const signals = recordSignals();
  const progress = { read: 0, hasEnded: false };
  let onEnd = () => {};
  const ended = new Promise<void>((resolve) => {
    onEnd = resolve;
  });
  async function* counted({ signal }: Connection) {
    try {
      for await (const part of partsOf(signal)) {
        progress.read += 1;
        yield part;
      }
    } finally {
      progress.hasEnded = true;
      onEnd();
    }
  }
  const app = express();
  app.use(beginTestRequest);
  app.get('/', async (_request, response) => {
    await sendLines(response, counted, signOfLifeEveryMs);
  });
  app.use(answerProblems(signals.listen));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  willClose({
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}/`, progress, ended, signals };
}

async function* manyParts() {
  for (let i = 0; i < MANY; i += 1) yield PART;
}

async function ask(url: string): Promise<IncomingMessage> {
  const [response] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage];
  return response;
}

it('sends all parts, in their order, as lines of JSON', async () => {
  const { url } = await serve(async function* () {
    yield '{"a":1}\n';
    yield '{"a":2}\n{"a":3}\n';
  });
  const response = await fetch(url);
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  expect(await response.text()).toBe('{"a":1}\n{"a":2}\n{"a":3}\n');
});

it('answers nothing with nothing', async () => {
  const { url } = await serve(async function* () {});
  const response = await fetch(url);
  expect([response.status, await response.text()]).toEqual([200, '']);
});

it('answers what goes wrong at once as any other error', async () => {
  const { url } = await serve(async function* () {
    yield await Promise.reject<string>(new Error('no luck'));
  });
  expect((await fetch(url)).status).toBe(500);
});

it('breaks the connection off when something goes wrong later, and says so to the operator', async () => {
  let goOn = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const { url, signals } = await serve(async function* () {
    yield '{"a":1}\n';
    await hasBegun;
    throw new Error('no luck');
  });
  const response = await fetch(url);
  expect(response.status).toBe(200);
  goOn();
  await expect(response.text()).rejects.toThrow();
  expect(signals.named('request.failed')).toMatchObject([{ error: { message: 'no luck' } }]);
});

it('reads no further than the client does, but for what the kernel takes', async () => {
  const { url, progress } = await serve(manyParts);
  const response = await ask(url);
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    expect(progress.read * PART.length - bytes).toBeLessThan(BUFFERED_BYTES);
  }
  expect(bytes).toBe(MANY * PART.length);
});

it('reads no further once the client is gone, which is no failure', async () => {
  const { url, progress, ended, signals } = await serve(manyParts);
  (await ask(url)).destroy();
  await ended;
  expect(progress.read).toBeLessThan(MANY);
  expect(signals.named('request.failed')).toEqual([]);
});

it('answers with empty lines while nothing comes, so that nobody takes it for dead', async () => {
  let goOn = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const { url } = await serve(async function* () {
    await hasBegun;
    yield '{"a":1}\n';
  }, 1);
  const response = await ask(url);
  expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'application/x-ndjson']);
  let text = '';
  for await (const chunk of response) {
    text += String(chunk);
    goOn();
  }
  expect(text).toMatch(/^\n+\{"a":1\}\n$/);
});

it.each(['before', 'after'])(
  'stops looking once the client is gone, also %s the first part',
  async (when) => {
    let onLooking = () => {};
    const looking = new Promise<void>((resolve) => {
      onLooking = resolve;
    });
    const { url, ended, signals } = await serve(async function* (signal) {
      if (when === 'after') yield '{"a":1}\n';
      onLooking();
      await once(signal, 'abort');
      signal.throwIfAborted();
    });
    const client = get(url, { agent: false });
    client.on('error', () => {});
    await looking;
    client.destroy();
    await ended;
    expect(signals.named('request.failed')).toEqual([]);
  },
);

it('reads no more than the first part for a HEAD', async () => {
  const { url, progress, ended } = await serve(manyParts);
  const response = await fetch(url, { method: 'HEAD' });
  await ended;
  expect([response.status, progress.read]).toEqual([200, 1]);
});
