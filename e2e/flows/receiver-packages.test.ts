import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createClosables } from '@hookferry/core/testing/closables';
import { memoryStore, type WebhookEvent } from '@hookferry/receiver';
import { webhooks } from '@hookferry/receiver/express';
import { findPythons } from '../packages/python-runtime';
import { RunningProgram } from '../packages/running-program';
import { QUICK_WIN } from '../support/samples';
import { openAccount } from '../support/shared-stack';
import { until } from '../support/until';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const PYTHON_SOURCE = join(__dirname, '../../clients/python/src');
const [python] = findPythons();

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

type Handled = Pick<WebhookEvent, 'id' | 'type' | 'data' | 'acceptedAt' | 'cloudEvent'>;

/** A program of somebody who uses a package. It fails each event of position 2 once. */
interface Program {
  readonly url: string;
  handled(): readonly Handled[];
}

async function startJavaScript(): Promise<Program> {
  const handled: Handled[] = [];
  const failed = new Set<unknown>();
  const receive = webhooks({
    secret: SECRET,
    dedupe: memoryStore(),
    binaryCloudEvents: true,
    on: {},
    otherwise: (event) => {
      const { position } = event.data as { readonly position: number };
      if (position === 2 && !failed.has(event.id)) {
        failed.add(event.id);
        throw new Error('not yet');
      }
      handled.push(event);
    },
    onError: () => {},
  });
  const server = createServer((request, response) => void receive(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  willClose({
    close: async () => {
      server.close();
      server.closeAllConnections();
    },
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, handled: () => handled };
}

async function startPython(): Promise<Program> {
  const environment = { PYTHONPATH: PYTHON_SOURCE, WEBHOOK_SECRET: SECRET };
  const path = join(__dirname, '../packages/receive_formats.py');
  const program = new RunningProgram([python?.command ?? '', path], environment);
  willClose({ close: async () => void (await program.stop()) });
  const port = await program.waitFor(/listening on (\d+)\./);
  const handled = () =>
    [...program.output.matchAll(/^got (.*)$/gm)].map(([, text = '']) => JSON.parse(text) as Handled);
  return { url: `http://127.0.0.1:${port}/`, handled };
}

const PACKAGES: readonly (readonly [string, () => Promise<Program>])[] = [
  ['@hookferry/receiver', startJavaScript],
  ...(python ? [['hookferry for Python', startPython] as const] : []),
];
if (!python)
  console.warn('SKIPPED: what the Python package receives, because Python 3.9 can not be had here.');

const batch = { max_events: 10, max_wait_ms: 1_000 };
const source = 'https://shop.example.com';
const FORMATS: readonly (readonly [string, object])[] = [
  ['native', {}],
  ['cloudevents_structured', { format: 'cloudevents_structured' }],
  ['cloudevents_binary', { format: 'cloudevents_binary' }],
  ['batch', { batch }],
  ['cloudevents_batch', { batch, format: 'cloudevents_batch' }],
];

const TIME = expect.stringMatching(/^\d{4}-.*Z$/);

describe.each(PACKAGES)('a receiver with %s', (_package, start) => {
  it.each(FORMATS)('gets the events of a webhook in one shape: %s', async (format, options) => {
    const client = await openAccount();
    const program = await start();
    const { id: webhook } = await client.register(program.url, ['*'], {
      secret: SECRET,
      retry_schedule: ['1s', '1s'],
      ...(format.startsWith('cloudevents') ? { cloudevents: { source, subject_pointer: '/keyword' } } : {}),
      ...options,
    });
    const dataOf = (position: number) => ({ ...QUICK_WIN.data, position });
    const events = [1, 2, 3].map((position) => ({ type: QUICK_WIN.type, data: dataOf(position) }));
    const { body } = await client.expect<{ data: { id: string }[] }>(207, 'POST', '/v1/events/batch', {
      events,
    });
    const ids = body.data.map(({ id }) => id);
    const deliveries = await until(async () => {
      const read = await Promise.all(ids.map((id) => client.readDelivery(`${id}.${webhook}`)));
      return read.every(({ status }) => status === 'delivered') ? read : undefined;
    });

    // The second one failed once, and the others stayed taken.
    const failure = format.endsWith('batch') ? 'rejected_in_batch' : 'http_5xx';
    expect(deliveries.map(({ attempts }) => attempts.map(({ outcome }) => outcome))).toEqual([
      ['delivered'],
      [failure, 'delivered'],
      ['delivered'],
    ]);
    const handled = program.handled().toSorted((a, b) => ids.indexOf(a.id ?? '') - ids.indexOf(b.id ?? ''));
    const isCloudEvent = format.startsWith('cloudevents');
    const timed = format === 'native' ? {} : { acceptedAt: TIME };
    const subject = QUICK_WIN.data.keyword;
    expect(handled).toMatchObject(
      ids.map((id, index) => ({
        id,
        type: QUICK_WIN.type,
        data: dataOf(index + 1),
        ...timed,
        ...(isCloudEvent ? { cloudEvent: { id, source, subject, type: QUICK_WIN.type } } : {}),
      })),
    );
  });
});
