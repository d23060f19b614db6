import { runInNewContext } from 'node:vm';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { type VerifyInput, verify, verifySignature, WebhookVerificationError } from './index';
import { BODY, OTHER_SECRET, SECRET, serviceDigits, signStandard } from './testing/sign-webhook';

const NOW = 1_790_000_000;
const standard = () => ({ headers: signStandard({ timestamp: NOW }), body: BODY, secret: SECRET, now: NOW });

function sharedCopy(bytes: Uint8Array): SharedArrayBuffer {
  const shared = new SharedArrayBuffer(bytes.length);
  new Uint8Array(shared).set(bytes);
  return shared;
}

async function faultOf(input: unknown): Promise<WebhookVerificationError> {
  const fault: unknown = await verify(input as VerifyInput).catch((error: unknown) => error);
  if (fault instanceof WebhookVerificationError) return fault;
  throw new Error(`Expected a WebhookVerificationError, not ${JSON.stringify(fault)}.`);
}

describe('verify', () => {
  it('gives the event with its id and time', async () => {
    expect(await verify(standard())).toEqual({
      id: 'evt_1',
      timestamp: NOW,
      type: 'brief.created',
      data: { title: 'Über uns 🚀' },
    });
  });

  it('gives no id where the signature covers none', async () => {
    const headers = { 'webhook-id': 'forged', 'x-service-signature': `sha256=${serviceDigits()}` };
    const event = await verify({ headers, body: BODY, secret: SECRET });
    expect(event).toEqual({ type: 'brief.created', data: { title: 'Über uns 🚀' } });
  });

  it('knows the data of each type', async () => {
    interface Events {
      'brief.created': { readonly title: string };
      'keyword.quick_win': { readonly position: number };
    }
    const event = await verify<Events>(standard());
    const summary = event.type === 'brief.created' ? event.data.title : event.data.position.toFixed();
    // @ts-expect-error: before its type is known, its data has no title.
    const unknownTitle: string = event.data.title;
    expect([summary, unknownTitle]).toEqual(['Über uns 🚀', 'Über uns 🚀']);
    const loose = await verify(standard());
    // @ts-expect-error: without a type argument nothing is known of the data.
    expect(loose.data.title).toBe('Über uns 🚀');
  });

  it.each<[string, (bytes: Buffer) => VerifyInput['body']]>([
    ['a string', (bytes) => bytes.toString()],
    ['a Buffer', (bytes) => bytes],
    ['a Uint8Array', (bytes) => new Uint8Array(bytes)],
    ['an ArrayBuffer', (bytes) => new Uint8Array(bytes).buffer],
    ['a SharedArrayBuffer', sharedCopy],
    ['a view of shared memory', (bytes) => new Uint8Array(sharedCopy(bytes))],
    ['a part of a larger buffer', (bytes) => Buffer.concat([Buffer.from('xx'), bytes]).subarray(2)],
    [
      'a DataView of a part',
      (bytes) => new DataView(new Uint8Array([0, ...bytes, 0]).buffer, 1, bytes.length),
    ],
    ['numbers of two bytes', (bytes) => new Uint16Array(new Uint8Array(bytes).buffer)],
    ['bytes of another realm', (bytes) => runInNewContext('Uint8Array.from(bytes)', { bytes: [...bytes] })],
    [
      'an ArrayBuffer of another realm',
      (bytes) => runInNewContext('Uint8Array.from(bytes).buffer', { bytes: [...bytes] }),
    ],
  ])('takes the body as %s', async (_what, bodyOf) => {
    const body = bodyOf(Buffer.from(BODY));
    expect(await verify({ ...standard(), body })).toMatchObject({ id: 'evt_1' });
  });

  it('reads what it has checked, whatever is written to that memory meanwhile', async () => {
    const body = Buffer.from(BODY);
    const verified = verify({ ...standard(), body });
    body.fill(0);
    expect(await verified).toMatchObject({ type: 'brief.created' });
  });

  it('takes the header by the name and prefix that the service was told', async () => {
    const headers = { 'x-acme': serviceDigits() };
    const input = { headers, body: BODY, secret: SECRET, serviceHeader: { name: 'X-Acme', prefix: '' } };
    expect(await verify(input)).toMatchObject({ type: 'brief.created' });
    expect(await faultOf({ ...input, headers: {} })).toMatchObject({ code: 'missing_header' });
  });

  it('ignores white space around a secret, as files have it', async () => {
    const headers = { 'x-service-signature': `sha256=${serviceDigits()}` };
    for (const request of [standard(), { ...standard(), headers }]) {
      expect(await verify({ ...request, secret: ` ${SECRET}\r\n` })).toMatchObject({ type: 'brief.created' });
    }
  });

  it.each([
    ['no JSON', 'keyword'],
    ['null', 'null'],
    ['an event without data', '{"type":"t"}'],
    ['an event whose type is no string', '{"type":1,"data":{}}'],
    ['no UTF-8', Buffer.from([0xff, 0xfe])],
  ])('refuses as a payload what is signed but %s', async (_what, body) => {
    const headers = signStandard({ body, timestamp: NOW });
    expect(await faultOf({ ...standard(), headers, body })).toMatchObject({ code: 'invalid_payload' });
    expect(await verifySignature({ ...standard(), headers, body })).toEqual({ id: 'evt_1', timestamp: NOW });
  });
});

describe('headers', () => {
  it.each([[undefined], [null]])('are missing where they are %s', async (headers) => {
    expect(await faultOf({ ...standard(), headers })).toMatchObject({
      code: 'missing_header',
      header: 'webhook-signature',
    });
  });

  it.each([
    ['of fetch', (headers: Record<string, string>) => new Headers(headers)],
    ['of Node', (headers: Record<string, string>) => headers],
    [
      'as arrays of one value',
      (headers: Record<string, string>) =>
        Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    ],
    [
      'in another case',
      (headers: Record<string, string>) =>
        Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value])),
    ],
  ])('are taken %s', async (_what, headersOf) => {
    const headers = headersOf(signStandard({ timestamp: NOW }));
    expect(await verify({ ...standard(), headers })).toMatchObject({ id: 'evt_1' });
  });

  const doubled = (name: 'webhook-id' | 'webhook-timestamp' | 'webhook-signature') => {
    const headers = signStandard({ timestamp: NOW });
    const joined = new Headers(headers);
    joined.append(name, headers[name]);
    return [
      { ...headers, [name]: [headers[name], headers[name]] },
      { ...headers, [name]: `${headers[name]}, ${headers[name]}` },
      { ...headers, [name.toUpperCase()]: headers[name] },
      joined,
    ];
  };

  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const)(
    'are refused where %s comes twice, however that is given',
    async (header) => {
      for (const headers of doubled(header)) {
        expect(await faultOf({ ...standard(), headers })).toMatchObject({ code: 'missing_header', header });
      }
    },
  );

  it('have a time that is near enough, and the error measures how far it is', async () => {
    expect(await faultOf({ ...standard(), now: NOW + 301 })).toMatchObject({
      code: 'timestamp_skew',
      skewSeconds: -301,
      message: expect.stringMatching(/301 s behind this clock.*NTP/),
    });
    expect(await verify({ ...standard(), now: NOW + 300.9 })).toMatchObject({ timestamp: NOW });
    expect(await verify({ ...standard(), now: NOW + 900, toleranceSeconds: 900 })).toBeDefined();
  });
});

describe('a mistake of the receiver', () => {
  const ofReceiver = { isConfigurationError: true };

  it.each([
    [{ secret: undefined }],
    [{ secret: null }],
    [{ secret: '' }],
    [{ secret: ' \n' }],
    [{ secret: 'whsec_' }],
    [{ secrets: [] }],
    [{ secrets: null }],
    [{ secrets: SECRET }],
    [{ secrets: [SECRET, ''] }],
    [{ secrets: [undefined, SECRET] }],
    [{}],
  ])('is missing_secret for %j', async (secrets) => {
    const { secret: _, ...request } = standard();
    const fault = await faultOf({ ...request, ...secrets });
    expect(fault).toMatchObject({ ...ofReceiver, code: 'missing_secret' });
    expect(fault.message).toContain('WEBHOOK_SECRET=whsec_…');
  });

  it.each([['whk_01m7z10j5c4fq3r5_00000000'], ['whsec_%%%'], [42]])(
    'is not_a_secret for %j',
    async (secret) => {
      const fault = await faultOf({ ...standard(), secret });
      expect(fault).toMatchObject({ ...ofReceiver, code: 'not_a_secret' });
      expect(fault.message).not.toContain(String(secret));
    },
  );

  it.each([[{ type: 't', data: {} }], [[]], [null], [undefined], [1]])(
    'is body_already_parsed for %j',
    async (body) => {
      const fault = await faultOf({ ...standard(), body });
      expect(fault).toMatchObject({ ...ofReceiver, code: 'body_already_parsed' });
      expect(fault.message).toContain('before anything parses it');
    },
  );

  it('shows before anything is said of the request', async () => {
    expect(await faultOf({ secret: '', headers: {}, body: '' })).toMatchObject({ code: 'missing_secret' });
  });

  it('is told apart from what is wrong with a request', async () => {
    const fault = await faultOf({ ...standard(), secret: OTHER_SECRET });
    expect(fault).toMatchObject({ code: 'no_match', isConfigurationError: false });
  });
});

describe('what others send and verify', () => {
  it.each([
    ['standardwebhooks', new StandardWebhook(SECRET)],
    ['svix', new SvixWebhook(SECRET)],
  ])('is verified when %s has signed it', async (_name, library) => {
    const headers = {
      ...signStandard({ timestamp: NOW }),
      'webhook-signature': library.sign('evt_1', new Date(NOW * 1_000), BODY),
    };
    expect(await verify({ ...standard(), headers })).toMatchObject({ id: 'evt_1' });
    expect(await faultOf({ ...standard(), headers, body: BODY.replace('Ü', 'U') })).toMatchObject({
      code: 'no_match',
    });
  });

  it.each([
    ['standardwebhooks', new StandardWebhook(SECRET)],
    ['svix', new SvixWebhook(SECRET)],
  ])('needs no change at a receiver that has %s', (_name, library) => {
    expect(library.verify(BODY, signStandard())).toMatchObject({ type: 'brief.created' });
  });
});
