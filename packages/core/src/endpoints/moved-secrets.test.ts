import { GIVE_ANEW, movedSecrets } from './moved-secrets';

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
])('finds each secret that would go along to %s', (_, url) => {
  expect(movedSecrets(before, { ...before, url }, {})).toEqual([
    { pointer: '/headers/authorization', detail: GIVE_ANEW },
    { pointer: '/headers/x~0team', detail: GIVE_ANEW },
    { pointer: '/tls/client_key', detail: GIVE_ANEW },
  ]);
});

it.each([
  ['another authority', { ...before.tls, ca: 'OTHER' }],
  ['the usual authorities', { certificate: 'CERT', key: 'KEY' }],
])('finds them too when %s may vouch for the receiver', (_, tls) => {
  expect(movedSecrets(before, { ...before, tls }, { tls: { ca: null } })).toHaveLength(3);
});

it('finds none that is given anew or removed', () => {
  const patch = { headers: { authorization: 'Bearer mine', 'x~team': null }, tls: { key: 'MINE' } };
  expect(movedSecrets(before, elsewhere, patch)).toEqual([]);
  expect(movedSecrets(before, elsewhere, { headers: null, tls: null })).toEqual([]);
});

it('is not misled by what a patch says of other members', () => {
  const patch = { headers: { 'x-mine': '1' }, tls: { certificate: 'MINE', key: undefined } };
  expect(movedSecrets(before, elsewhere, patch)).toHaveLength(3);
});

it('finds none where nothing changes but other members, or there are none', () => {
  expect(movedSecrets(before, { ...before, headers: { authorization: 'Bearer abc' } }, {})).toEqual([]);
  expect(movedSecrets({ url: URL }, { url: 'https://attacker.example/' }, {})).toEqual([]);
});
