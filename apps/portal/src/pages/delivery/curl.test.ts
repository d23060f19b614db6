import { verify } from '@hookferry/receiver';
import { curlOf } from './curl';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const input = {
  url: 'https://example.com/hook',
  body: `{"type":"t","data":{"it's":"Zoë 🚀"}}`,
  eventId: 'evt_1',
  headers: { 'content-type': 'application/json', 'x-service-attempt': '2', authorization: '***' },
  signing: 'hmac',
  secret: SECRET,
  now: new Date('2030-01-31T12:00:00Z'),
} as const;

/** The headers that a shell would pass to curl. */
function headersIn(command: string): Record<string, string> {
  return Object.fromEntries(
    [...command.matchAll(/-H '([^:]+): ([^']*)'/g)].map(([, name, value]) => [name, value]),
  );
}

describe('curlOf', () => {
  it('is signed by both schemes, as receivers check it', async () => {
    const headers = headersIn(await curlOf(input));
    const { 'x-service-signature': bodySignature = '', ...standard } = headers;
    const now = input.now.getTime() / 1_000;
    expect(await verify({ secret: SECRET, headers: standard, body: input.body, now })).toMatchObject({
      id: 'evt_1',
    });
    const plain = { 'x-service-signature': bodySignature };
    expect(await verify({ secret: SECRET, headers: plain, body: input.body })).toMatchObject({ type: 't' });
  });

  it('keeps a quote from ending the body', async () => {
    expect(await curlOf(input)).toContain(`--data-raw '{"type":"t","data":{"it'\\''s":"Zoë 🚀"}}'`);
  });

  it('says where a signature and the webhook’s own values are missing', async () => {
    const headers = headersIn(await curlOf({ ...input, secret: undefined }));
    expect(headers).toMatchObject({ 'webhook-signature': 'v1,SIGNATURE', authorization: 'VALUE' });
  });

  it('has nothing by the secret where only a key pair signs', async () => {
    const headers = headersIn(await curlOf({ ...input, signing: 'ed25519' }));
    expect(headers).toMatchObject({ 'webhook-signature': 'v1a,SIGNATURE' });
    expect(headers).not.toHaveProperty('x-service-signature');
  });
});
