import { createPrivateKey, createPublicKey } from 'node:crypto';
import * as fc from 'fast-check';
import { validationErrorsOf } from '../platform/app-error';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildTargetUrlRules } from '../testing/build-target-url-rules';
import { clientCertificate, clientKey, ed448Certificate, otherCertificate } from '../testing/certificates';
import { costlyDsaKey, costlyRsaKey } from '../testing/costly-keys';
import {
  endpointPatchSchema,
  GIVE_AGAIN,
  mergeEndpoint,
  mergePatch,
  movedSecrets,
  newEndpointSchema,
} from './endpoint-input';
import { newSecret } from './rotate-secret';

describe('endpoint input', () => {
  const rules = buildTargetUrlRules();
  const valid = { url: 'https://example.com/hooks', events: ['keyword.quick_win'] };

  function pointersOf(
    schema: ReturnType<typeof newEndpointSchema | typeof endpointPatchSchema>,
    input: unknown,
  ) {
    const { error } = schema.safeParse(input);
    return error ? validationErrorsOf(error).map(({ pointer }) => pointer) : [];
  }

  const sharedValidationErrors: [string, object, string[]][] = [
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

  it('refuses a retry schedule that does not fit into the retention, and names both settings', () => {
    const shortRules = buildTargetUrlRules({ retentionMs: 86_400_000 });
    const schemas = [
      (retry_schedule: string[]) => newEndpointSchema(shortRules).safeParse({ ...valid, retry_schedule }),
      (retry_schedule: string[]) => endpointPatchSchema(shortRules).safeParse({ retry_schedule }),
    ];
    for (const parse of schemas) {
      const { error } = parse(['12h', '12h']);
      expect(error && validationErrorsOf(error)).toEqual([
        {
          pointer: '/retry_schedule',
          detail: expect.stringMatching(/within 1d \(RETENTION\).*retry_schedule/),
        },
      ]);
      // With their jitter.
      expect(parse(['12h', '11h']).success).toBe(true);
      expect(parse(['12h', '705m']).success).toBe(false);
    }
  });

  describe('newEndpointSchema', () => {
    const schema = newEndpointSchema(rules);

    it('takes all that can be said', () => {
      const input = { ...valid, events: ['*', 'brief.*'], description: 'd'.repeat(500), secret: newSecret() };
      expect(schema.parse(input)).toEqual(input);
    });

    it.each([
      ...sharedValidationErrors,
      ['no URL', { url: undefined }, ['/url']],
      ['no event types', { events: undefined }, ['/events']],
      ['null as description', { description: null }, ['/description']],
      ['an invalid secret', { secret: 'whsec_short' }, ['/secret']],
    ] satisfies typeof sharedValidationErrors)('refuses %s', (_what, change, pointers) => {
      expect(pointersOf(schema, { ...valid, ...change })).toEqual(pointers);
    });

    it.each([null, undefined, [], 'text', 1])('refuses %j as a whole', (input) => {
      expect(pointersOf(schema, input)).toEqual(['']);
    });

    it('takes 100 event types at most', () => {
      const events = Array.from({ length: 101 }, () => 'keyword.quick_win');
      const { error } = schema.safeParse({ ...valid, events });
      expect(error && validationErrorsOf(error)).toContainEqual({
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
      ['ca', 'an invalid certificate', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----'],
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
        expect(error && validationErrorsOf(error).map(({ pointer }) => pointer)).toEqual([`/tls/${member}`]);
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
      ...sharedValidationErrors,
      ['null as event types', { events: null }, ['/events']],
      ['a secret, which only a rotation changes', { secret: newSecret() }, ['/secret']],
    ] satisfies typeof sharedValidationErrors)('refuses %s', (_what, patch, pointers) => {
      expect(pointersOf(schema, patch)).toEqual(pointers);
    });
  });
});

describe('merge endpoint', () => {
  describe('mergePatch', () => {
    // The test cases of RFC 7396, Appendix A.
    it.each([
      [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
      [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
      [{ a: 'b' }, { a: null }, {}],
      [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
      [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
      [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
      [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
      [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
      [
        ['a', 'b'],
        ['c', 'd'],
        ['c', 'd'],
      ],
      [{ a: 'b' }, ['c'], ['c']],
      [{ a: 'foo' }, null, null],
      [{ a: 'foo' }, 'bar', 'bar'],
      [{ e: null }, { a: 1 }, { e: null, a: 1 }],
      [[1, 2], { a: 'b', c: null }, { a: 'b' }],
      [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    ])('makes of %j by %j: %j', (target, patch, result) => {
      expect(mergePatch(target, patch)).toEqual(result);
    });

    it('takes what is undefined for not said', () => {
      expect(mergePatch({ a: 'b' }, { a: undefined, c: undefined })).toStrictEqual({ a: 'b' });
    });

    it('changes no prototype, whatever a member is called', () => {
      const merged = mergePatch({}, JSON.parse('{"__proto__":{"isAdmin":true}}'));
      expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
      expect(merged).not.toHaveProperty('isAdmin');
    });

    it('takes a member called __proto__ for data, at every depth', () => {
      const merged = mergePatch({}, JSON.parse('{"a": {"__proto__": {"polluted": true}}}'));
      expect(JSON.stringify(merged)).toBe('{"a":{"__proto__":{"polluted":true}}}');
      expect({}).not.toHaveProperty('polluted');
    });
  });

  describe('of an endpoint that sends the newest of a group', () => {
    const given = { ordering: 'group', coalesce: { window_ms: 1 } } as const;

    it.each([
      [buildEndpoint({ ordering: 'group', format: 'cloudevents_batch' }), { coalesce: { window_ms: 1 } }],
      [buildEndpoint(given), { format: 'cloudevents_batch' }],
    ] as const)('refuses that as a list, which each event would be alone: %#', (endpoint, patch) => {
      expect(() => mergeEndpoint(endpoint, patch, 0)).toThrow(
        expect.objectContaining({
          validationErrors: [
            { pointer: '/coalesce', detail: expect.stringContaining('take cloudevents_structured') },
          ],
        }),
      );
    });

    it('changes one that has both since before that was refused', () => {
      const former = buildEndpoint({ ...given, format: 'cloudevents_batch' });
      expect(mergeEndpoint(former, { description: 'new' }, 0)).toMatchObject({ description: 'new' });
    });
  });

  describe('whatever target and patch are', () => {
    // As they come out of JSON.parse, members called __proto__ included.
    const json = fc.json().map((text) => JSON.parse(text) as unknown);

    it('applying a patch twice is the same as once', () => {
      fc.assert(
        fc.property(json, json, (target, patch) => {
          const once = mergePatch(target, patch);
          expect(JSON.stringify(mergePatch(once, patch))).toBe(JSON.stringify(once));
        }),
      );
    });

    it('an empty patch changes no object, and neither input is touched', () => {
      fc.assert(
        fc.property(fc.dictionary(fc.string(), json), json, (target, patch) => {
          const before = [JSON.stringify(target), JSON.stringify(patch)];
          expect(JSON.stringify(mergePatch(target, {}))).toBe(before[0]);
          mergePatch(target, patch);
          expect([JSON.stringify(target), JSON.stringify(patch)]).toEqual(before);
        }),
      );
    });
  });
});

describe('moved secrets', () => {
  const URL = 'https://example.com/hook';
  const before = {
    url: URL,
    headers: { authorization: 'Bearer abc', 'x~team': 'blue' },
    tls: { ca: 'CA', certificate: 'CERT', key: 'KEY' },
  };
  const elsewhere = { ...before, url: 'https://attacker.example/hook' };

  it.each([
    ['another host', 'https://attacker.example/hook'],
    ['another port', 'https://example.com:8443/hook'],
    ['another scheme', 'http://example.com/hook'],
    ['another path', 'https://example.com/hooks/of-somebody-else'],
    ['another query', 'https://example.com/hook?account=2'],
  ])('finds each secret that would also go to %s', (_, url) => {
    expect(movedSecrets(before, { ...before, url }, {})).toEqual([
      { pointer: '/headers/authorization', detail: GIVE_AGAIN },
      { pointer: '/headers/x~0team', detail: GIVE_AGAIN },
      { pointer: '/tls/client_key', detail: GIVE_AGAIN },
    ]);
  });

  it.each([
    ['another authority', { ...before.tls, ca: 'OTHER' }],
    ['the usual authorities', { certificate: 'CERT', key: 'KEY' }],
  ])('finds them too when %s may vouch for the receiver', (_, tls) => {
    expect(movedSecrets(before, { ...before, tls }, { tls: { ca: null } })).toHaveLength(3);
  });

  it('finds none that is given again or removed', () => {
    const patch = { headers: { authorization: 'Bearer mine', 'x~team': null }, tls: { key: 'MINE' } };
    expect(movedSecrets(before, elsewhere, patch)).toEqual([]);
    expect(movedSecrets(before, elsewhere, { headers: null, tls: null })).toEqual([]);
  });

  it('is not misled by what a patch says of other members', () => {
    const patch = { headers: { 'x-mine': '1' }, tls: { certificate: 'MINE', key: undefined } };
    expect(movedSecrets(before, elsewhere, patch)).toHaveLength(3);
  });

  it('finds none where only other members change, or without any', () => {
    expect(movedSecrets(before, { ...before, headers: { authorization: 'Bearer abc' } }, {})).toEqual([]);
    expect(movedSecrets({ url: URL }, { url: 'https://attacker.example/' }, {})).toEqual([]);
  });
});
