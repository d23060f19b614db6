import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sealingKeysSchema } from '../platform/sealing-key';
import { TEST_ENCRYPTION_KEY } from '../testing/test-sealer';
import { digestsOf } from './agreed-settings';

const SECRETS_ENCRYPTION_KEY = sealingKeysSchema.parse(TEST_ENCRYPTION_KEY);
const config = {
  SECRETS_ENCRYPTION_KEY,
  DELIVERY_ALLOWED_CIDRS: ['10.0.0.0/8', '127.0.0.0/8'],
  RETRY_SCHEDULE: [5_000, 300_000],
  HISTORY_DATABASE_URL: 'postgresql://hookferry:secret@db/hookferry',
  PUBLIC_URL: undefined,
};
const digests = digestsOf(config);

it('tells settings by name, each by a few digits', () => {
  const digits = expect.stringMatching(/^[0-9a-f]{8}$/);
  expect(digests).toEqual({
    SECRETS_ENCRYPTION_KEY: digits,
    DELIVERY_ALLOWED_CIDRS: digits,
    RETRY_SCHEDULE: digits,
    HISTORY_DATABASE_URL: digits,
    PUBLIC_URL: digits,
  });
});

it.each([
  ['DELIVERY_ALLOWED_CIDRS', []],
  ['RETRY_SCHEDULE', [300_000, 5_000]],
  ['HISTORY_DATABASE_URL', undefined],
  ['PUBLIC_URL', 'https://hooks.example.com'],
  ['SECRETS_ENCRYPTION_KEY', []],
  ['SECRETS_ENCRYPTION_KEY', sealingKeysSchema.parse(Buffer.alloc(32, 'other').toString('base64'))],
])('tells another %s by another digest, and all else by the same one', (name, value) => {
  const { [name]: other, ...rest } = digestsOf({ ...config, [name]: value });
  const { [name]: own, ...same } = digests;
  expect(other).not.toBe(own);
  expect(rest).toEqual(same);
});

it('takes ranges in another order for the same', () => {
  expect(digestsOf({ ...config, DELIVERY_ALLOWED_CIDRS: ['127.0.0.0/8', '10.0.0.0/8'] })).toEqual(digests);
});

it('tells nothing from which a secret could be guessed: of an address with a password, only that there is one', () => {
  const other = { ...config, HISTORY_DATABASE_URL: 'postgresql://hookferry:guess@db/hookferry' };
  expect(digestsOf(other)).toEqual(digests);
  const more = {
    ...config,
    SMTP_URL: 'smtp://user:secret@mail',
    BOOTSTRAP_API_KEY: 'whk_secret',
    REDIS_URL: 'redis://:secret@redis',
  };
  expect(digestsOf(more)).toEqual(digests);
});

it('is on the page with all its names', () => {
  const page = readFileSync(join(__dirname, '../../../../docs/configuration.md'), 'utf8');
  const [, section = ''] = page.split('\n### The same everywhere\n');
  const [list = ''] = section.slice(section.indexOf('\n- ')).split('\n\n');
  const named = [...list.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name);
  const all = new Proxy(config, { has: () => true });
  expect(named.toSorted()).toEqual(Object.keys(digestsOf(all)).toSorted());
});
