import { memoryStore, responses, WebhookVerificationError } from './index';
import type { ReceiverOptions } from './receiver-options';
import { type Posted, type PostInput, postWebhook } from './testing/post-webhook';
import { type ServedAdapter, servedAdapters } from './testing/serve-adapters';
import { OTHER_SECRET, SECRET, serviceDigits, signStandard } from './testing/sign-webhook';

const ACCEPTED_AT = '2026-01-02T03:04:05.678Z';

describe.each(servedAdapters)('the adapter for %s', (_name, serve) => {
  let served: ServedAdapter | undefined;
  let handled: unknown[];
  let errors: unknown[];

  beforeEach(() => {
    handled = [];
    errors = [];
  });
  afterEach(async () => {
    await served?.close();
    served = undefined;
  });

  async function start(
    options: Partial<ReceiverOptions> = {},
  ): Promise<(input?: PostInput) => Promise<Posted>> {
    const { port } = (served = await serve({
      secret: SECRET,
      on: { 'brief.created': async (event) => handled.push(event) },
      onError: (error) => errors.push(error),
      ...options,
    } as ReceiverOptions));
    return (input) => postWebhook(port, input);
  }

  it('hands a genuine event to the handler of its type, and responds with 204', async () => {
    const post = await start();
    expect(await post()).toMatchObject({ status: 204, text: '' });
    expect(handled).toEqual([
      {
        id: 'evt_1',
        timestamp: expect.any(Number),
        type: 'brief.created',
        data: { title: 'Über uns 🚀' },
      },
    ]);
    expect(errors).toEqual([]);
  });

  it('verifies the bytes as they came, whatever they are and say they are', async () => {
    const post = await start();
    const body = ' {"type" : "brief.created",\n"data":{"big":9007199254740993,"a":"\\u2028"}}\n';
    for (const type of [
      'application/json',
      'text/plain; charset=latin1',
      'application/x-www-form-urlencoded',
    ]) {
      const headers = { ...signStandard({ body }), 'content-type': type };
      expect(await post({ body, headers })).toMatchObject({ status: 204 });
    }
    expect(handled).toHaveLength(3);
    const noText = Buffer.from([0xff, 0x00, 0xfe, 0x0a, 0x80]);
    expect(await post({ body: noText })).toMatchObject({
      status: 401,
      text: expect.stringMatching(/^invalid_payload: The signature is valid/),
    });
  });

  it('takes the signature of the service where there is no other', async () => {
    const post = await start({ serviceHeader: { name: 'X-Acme', prefix: 'hex:' } });
    expect(await post({ headers: { 'X-ACME': `hex:${serviceDigits()}` } })).toMatchObject({ status: 204 });
    expect(handled).toHaveLength(1);
  });

  const good = signStandard();
  it.each<[string, Record<string, string | string[]>]>([
    ['no_match', signStandard({ secret: OTHER_SECRET })],
    ['timestamp_skew', signStandard({ timestamp: 1_790_000_000 })],
    ['missing_header', {}],
    ['missing_header', { ...good, 'webhook-id': ['evt_1', 'evt_2'] }],
    ['missing_header', { ...good, 'webhook-signature': [good['webhook-signature'], 'v1,AAAA'] }],
  ])('refuses with 401 and says %s', async (code, headers) => {
    const post = await start();
    const response = await post({ headers });
    expect(response).toMatchObject({ status: 401, text: expect.stringMatching(new RegExp(`^${code}: `)) });
    expect(response.headers['content-type']).toMatch(/^text\/plain/);
    expect(handled).toEqual([]);
    expect(errors).toMatchObject([{ code }]);
    expect(errors[0]).toBeInstanceOf(WebhookVerificationError);
  });

  it('responds with 500 and what to do where the mistake is its own', async () => {
    const post = await start({ secret: '' });
    expect(await post()).toMatchObject({
      status: 500,
      text: expect.stringMatching(/^missing_secret: .*whsec_/),
    });
  });

  it('responds with 500 when a handler throws, and does not tell what', async () => {
    const failure = new Error('password is 1234');
    const post = await start({ on: { 'brief.created': () => Promise.reject(failure) } });
    const { status, text } = await post();
    expect(status).toBe(500);
    expect(text).not.toContain('1234');
    expect(errors).toEqual([failure]);
  });

  it('responds with 204 to a type that nobody handles, unless somebody takes the rest', async () => {
    const body = '{"type":"constructor","data":{}}';
    const post = await start();
    expect(await post({ body })).toMatchObject({ status: 204 });
    await served?.close();
    const postAgain = await start({ otherwise: ({ type }) => handled.push(type) });
    expect(await postAgain({ body })).toMatchObject({ status: 204 });
    expect(handled).toEqual(['constructor']);
  });

  it.each([
    ['abort', responses.abort(), 422, { 'webhook-delivery': 'abort' }],
    ['disable', responses.disable(), 503, { 'webhook-delivery': 'disable' }],
    ['retryAfter', responses.retryAfter(120), 503, { 'retry-after': '120' }],
  ])('passes on a wish to %s', async (_wish, response, status, headers) => {
    const post = await start({ on: { 'brief.created': async () => response } });
    expect(await post()).toMatchObject({ status, headers });
    expect(errors).toEqual([]);
  });

  it('refuses with 413 what is too long, and takes what is just not', async () => {
    const body = JSON.stringify({ type: 'brief.created', data: 'x'.repeat(5_000) });
    const post = await start({ maxBytes: Buffer.byteLength(body) });
    expect(await post({ body })).toMatchObject({ status: 204 });
    expect(await post({ body: `${body} ` })).toMatchObject({ status: 413 });
  });

  it('takes an event of 1 MiB without being told so', async () => {
    const body = JSON.stringify({ type: 'brief.created', data: 'x'.repeat(1_048_576) });
    const post = await start();
    expect(await post({ body })).toMatchObject({ status: 204 });
  });

  it('hands over each event of a request with several, once, and says which were not handled', async () => {
    const fails = new Set(['evt_2']);
    const handle = async (event: { readonly id?: string }) => {
      if (fails.delete(event.id ?? '')) throw new Error('no');
      handled.push(event);
    };
    const post = await start({ dedupe: memoryStore(), on: { 'brief.created': handle } });
    const item = (id: string) => ({ id, type: 'brief.created', timestamp: ACCEPTED_AT, data: 7 });
    const body = JSON.stringify({ type: 'batch', data: ['evt_1', 'evt_2', 'evt_3'].map(item) });
    const headers = signStandard({ id: 'batch_1', body });
    const { status, text, headers: received } = await post({ body, headers });
    expect([status, JSON.parse(text), received['content-type']]).toEqual([
      200,
      { failed: ['evt_2'] },
      expect.stringMatching(/^application\/json/),
    ]);
    expect(await post({ body, headers })).toMatchObject({ status: 204, text: '' });
    expect(handled).toMatchObject(
      ['evt_1', 'evt_3', 'evt_2'].map((id) => ({ id, data: 7, acceptedAt: ACCEPTED_AT })),
    );
    expect(errors).toHaveLength(1);
  });

  it('hands over CloudEvents: in one body, as a list, and as headers where it was told to', async () => {
    const post = await start({ binaryCloudEvents: true });
    const attributes = { specversion: '1.0', id: 'evt_1', source: '/shop', type: 'brief.created' };
    const event = { ...attributes, data: 7 };
    for (const body of [JSON.stringify(event), JSON.stringify([event])]) {
      const headers = { ...signStandard({ body }), 'content-type': 'application/cloudevents+json' };
      expect(await post({ body, headers })).toMatchObject({ status: 204 });
    }
    const names = Object.entries(attributes).map(([name, value]) => [`ce-${name}`, value] as const);
    const headers = { ...signStandard({ body: '7' }), ...Object.fromEntries(names) };
    expect(await post({ body: '7', headers })).toMatchObject({ status: 204 });
    const common = { id: 'evt_1', type: 'brief.created', data: 7 };
    expect(handled).toMatchObject([1, 2, 3].map(() => ({ ...common, cloudEvent: attributes })));
  });

  it('responds to a challenge by itself, each time, and no handler gets it', async () => {
    const handle = (event: unknown) => handled.push(event);
    const on = { 'webhook.verification': handle };
    const post = await start({ on, otherwise: handle, dedupe: memoryStore() });
    const body = '{"type":"webhook.verification","data":{"challenge":"a-_9"}}';
    for (let time = 0; time < 2; time++) {
      const { status, headers, text } = await post({ body });
      expect([status, headers['content-type'], JSON.parse(text)]).toEqual([
        200,
        expect.stringMatching(/^application\/json/),
        { challenge: 'a-_9' },
      ]);
    }
    expect(handled).toEqual([]);
    expect(errors).toEqual([]);
  });

  it('responds to no challenge whose signature is wrong', async () => {
    const post = await start();
    const body = '{"type":"webhook.verification","data":{"challenge":"a-_9"}}';
    const { status, text } = await post({ body, headers: signStandard({ body, secret: OTHER_SECRET }) });
    expect([status, text]).toEqual([401, expect.not.stringContaining('a-_9')]);
  });

  it.each(['null', '{}', '{"challenge":1}', '"challenge"', '["challenge"]'])(
    'gives its handler what is called a challenge, and has none: %s',
    async (data) => {
      const post = await start({ on: { 'webhook.verification': (event) => handled.push(event.data) } });
      const body = `{"type":"webhook.verification","data":${data}}`;
      expect(await post({ body })).toMatchObject({ status: 204 });
      expect(handled).toEqual([JSON.parse(data)]);
    },
  );

  it('handles an event once, and tells a second delivery meanwhile to come back', async () => {
    const [begun, finished] = [createLatch(), createLatch()];
    const handle = async (event: unknown) => {
      handled.push(event);
      begun.open();
      await finished.opened;
    };
    const post = await start({ dedupe: memoryStore(), on: { 'brief.created': handle } });
    const first = post();
    await begun.opened;
    expect(await post()).toMatchObject({ status: 409, headers: { 'retry-after': '10' } });
    finished.open();
    expect(await first).toMatchObject({ status: 204 });
    expect(await post()).toMatchObject({ status: 204 });
    expect(handled).toHaveLength(1);
  });
});

function createLatch(): { open(): void; readonly opened: Promise<void> } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}
