import {
  FORMER_KEY_MS,
  formatPublicKey,
  publishedKeys,
  type SigningKey,
  type SigningKeys,
  signingKeyAt,
} from './signing-key';

const DAY = 86_400_000;

function keyOf(kid: string, signsFrom: number): SigningKey {
  return { kid, publicKey: 'x', privateKey: 'sealed', createdAt: 0, signsFrom };
}

// Newest first.
const keys: SigningKeys = { keys: [keyOf('c', 3 * DAY), keyOf('b', DAY), keyOf('a', 0)] };

it.each([
  ['the first one', 0, 'a'],
  ['the second one from the very moment on', DAY, 'b'],
  ['none before its time', 3 * DAY - 1, 'b'],
  ['the newest one', 3 * DAY, 'c'],
  ['the oldest one, on a clock that is behind', -1, 'a'],
])('%s signs', (_what, now, kid) => {
  expect(signingKeyAt(keys, now).kid).toBe(kid);
});

it.each([
  ['all that wait', 0, ['next c', 'next b', 'signing a']],
  ['a former one', DAY, ['next c', 'signing b', 'former a']],
  [
    'a former one for a day after it has signed',
    DAY + FORMER_KEY_MS - 1,
    ['next c', 'signing b', 'former a'],
  ],
  ['none that nobody can have to verify by', DAY + FORMER_KEY_MS, ['next c', 'signing b']],
  ['the one that signs, however old', 300 * DAY, ['signing c']],
])('publishes %s', (_what, now, published) => {
  expect(publishedKeys(keys, now).map(({ status, key }) => `${status} ${key.kid}`)).toEqual(published);
});

it('says until when a key signs, and until when it is published', () => {
  expect(
    publishedKeys(keys, DAY).map(({ signsUntil, publishedUntil }) => [signsUntil, publishedUntil]),
  ).toEqual([
    [undefined, undefined],
    [3 * DAY, 3 * DAY + FORMER_KEY_MS],
    [DAY, DAY + FORMER_KEY_MS],
  ]);
});

it('writes a public key as Standard Webhooks does', () => {
  // RFC 8037, A.2.
  const publicKey = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
  expect(formatPublicKey({ publicKey })).toBe('whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=');
});
