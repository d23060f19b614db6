import { createPrivateKey, createPublicKey } from 'node:crypto';
import { faultsOf } from '../kernel/faults';
import { buildTargetUrlRules } from '../testing/build-target-url-rules';
import { clientCertificate, clientKey, ed448Certificate, otherCertificate } from '../testing/certificates';
import { costlyDsaKey, costlyRsaKey } from '../testing/costly-keys';
import { endpointPatchSchema, newEndpointSchema } from './endpoint-input';
import { newSecret } from './secret';

const rules = buildTargetUrlRules();
const valid = { url: 'https://example.com/hooks', events: ['keyword.quick_win'] };

function pointersOf(
  schema: ReturnType<typeof newEndpointSchema | typeof endpointPatchSchema>,
  input: unknown,
) {
  const { error } = schema.safeParse(input);
  return error ? faultsOf(error).map(({ pointer }) => pointer) : [];
}

const sharedFaults: [string, object, string[]][] = [
  ['a relative URL', { url: '/hooks' }, ['/url']],
  ['an http URL', { url: 'http://example.com' }, ['/url']],
  ['null as URL', { url: null }, ['/url']],
  ['no event type', { events: [] }, ['/events']],
  ['a text in the place of event types', { events: 'keyword.quick_win' }, ['/events']],
  ['an event type that is no text', { events: [1] }, ['/events/0']],
  ['an event type named twice', { events: ['*', '*'] }, ['/events']],
  ['a description of 501 characters', { description: 'd'.repeat(501) }, ['/description']],
  ['a description that is no text', { description: 1 }, ['/description']],
  ['an unknown member', { colour: 'red' }, ['/colour']],
  ['several faults', { url: '', events: [], colour: 'red' }, ['/url', '/events', '/colour']],
];

describe('newEndpointSchema', () => {
  const schema = newEndpointSchema(rules);

  it('takes all that can be said', () => {
    const input = { ...valid, events: ['*', 'brief.*'], description: 'd'.repeat(500), secret: newSecret() };
    expect(schema.parse(input)).toEqual(input);
  });

  it.each([
    ...sharedFaults,
    ['no URL', { url: undefined }, ['/url']],
    ['no event types', { events: undefined }, ['/events']],
    ['null as description', { description: null }, ['/description']],
    ['a secret that is none', { secret: 'whsec_short' }, ['/secret']],
  ] satisfies typeof sharedFaults)('refuses %s', (_what, change, pointers) => {
    expect(pointersOf(schema, { ...valid, ...change })).toEqual(pointers);
  });

  it.each([null, undefined, [], 'text', 1])('refuses %j as a whole', (input) => {
    expect(pointersOf(schema, input)).toEqual(['']);
  });

  it('takes 100 event types at most', () => {
    const events = Array.from({ length: 101 }, () => 'keyword.quick_win');
    const { error } = schema.safeParse({ ...valid, events });
    expect(error && faultsOf(error)).toContainEqual({
      pointer: '/events',
      detail: 'must name at most 100 event types',
    });
  });

  it('takes http URLs where the rules allow them', () => {
    const url = 'http://example.com/';
    expect(
      newEndpointSchema(buildTargetUrlRules({ allowHttp: true })).parse({ ...valid, url }),
    ).toMatchObject({ url });
  });
});

describe('TLS material', () => {
  const newTls = (tls: object) => newEndpointSchema(rules).safeParse({ ...valid, tls });
  const patchTls = (tls: object | null) => endpointPatchSchema(rules).safeParse({ tls });
  const encrypted = createPrivateKey(clientKey)
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'p' })
    .toString();

  it('is taken in whole or in part, without what stands around it', () => {
    const bundle = `# Two of them\n${clientCertificate}\n# and\n${otherCertificate}`;
    const tls = { ca: bundle, client_certificate: clientCertificate, client_key: clientKey };
    expect(newTls(tls).data?.tls).toEqual({
      ca: clientCertificate + otherCertificate,
      certificate: clientCertificate,
      key: clientKey,
    });
    expect(newTls({ ca: otherCertificate }).data?.tls).toEqual({ ca: otherCertificate });
  });

  it('takes keys in the forms that there are', () => {
    const sec1 = createPrivateKey(clientKey).export({ type: 'sec1', format: 'pem' });
    expect(newTls({ client_key: sec1 }).data?.tls).toEqual({ key: clientKey });
  });

  it('may be removed by a patch, whole or in part, and not by a registration', () => {
    expect(patchTls(null).data).toEqual({ tls: null });
    expect(patchTls({ ca: null, client_key: null }).data).toEqual({ tls: { ca: null, key: null } });
    expect(newTls({ ca: null }).success).toBe(false);
  });

  it.each([
    ['ca', 'nothing', ''],
    ['ca', 'no PEM', 'MIIB'],
    ['ca', 'a certificate that is none', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----'],
    ['ca', 'a private key', clientKey],
    ['client_certificate', 'a private key beside the certificate', clientCertificate + clientKey],
    ['client_certificate', 'the beginning of one', clientCertificate.slice(0, -30)],
    ['client_certificate', 'a number', 1],
    ['client_certificate', '16 KiB and more', clientCertificate.repeat(30)],
    ['client_key', 'a certificate', clientCertificate],
    ['client_key', 'an encrypted key', encrypted],
    ['client_key', 'a public key', createPublicKey(clientKey).export({ type: 'spki', format: 'pem' })],
    ['client_key', '16 KiB and more', clientKey.padEnd(16_385)],
    ['ca', 'more than sixteen certificates', otherCertificate.repeat(17)],
    ['client_certificate', 'one with a key of a kind that is not taken', ed448Certificate],
    ['client_key', 'an RSA key whose numbers do not belong together', costlyRsaKey()],
    ['client_key', 'a key that OpenSSL takes half a minute to read', costlyDsaKey()],
    ['client_key', 'nothing', ''],
    ['passphrase', 'anything', 'p'],
  ])('refuses as %s: %s', (member, _what, value) => {
    for (const { error } of [newTls({ [member]: value }), patchTls({ [member]: value })]) {
      expect(error && faultsOf(error).map(({ pointer }) => pointer)).toEqual([`/tls/${member}`]);
      expect(JSON.stringify(error)).not.toContain('MIGHAgEAMBMG');
    }
  });
});

describe('endpointPatchSchema', () => {
  const schema = endpointPatchSchema(rules);

  it.each([[{}], [{ description: null }], [{ url: valid.url }], [{ events: ['*'], description: 'new' }]])(
    'takes %j',
    (patch) => {
      expect(schema.parse(patch)).toEqual(patch);
    },
  );

  it.each([
    ...sharedFaults,
    ['null as event types', { events: null }, ['/events']],
    ['a secret, which only a rotation changes', { secret: newSecret() }, ['/secret']],
  ] satisfies typeof sharedFaults)('refuses %s', (_what, patch, pointers) => {
    expect(pointersOf(schema, patch)).toEqual(pointers);
  });
});
