import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLIENT_VERSION, type ClientOptions, checkOptions } from './options';

const GOOD = { baseUrl: 'https://webhooks.example.com', apiKey: 'whk_1' };

it.each<[string, Partial<ClientOptions>]>([
  ['baseUrl', { baseUrl: 'webhooks.example.com' }],
  ['baseUrl', { baseUrl: 'ftp://webhooks.example.com' }],
  ['baseUrl', { baseUrl: 'https://ada:hunter2@webhooks.example.com' }],
  ['baseUrl', { baseUrl: 'https://webhooks.example.com/?a=b' }],
  ['apiKey', { apiKey: '' }],
  ['apiKey', { apiKey: 'whk_hunter2\n' }],
  ['account', { account: 'a b' }],
  ['retries', { retries: -1 }],
  ['retries', { retries: 1.5 }],
  ['timeoutMs', { timeoutMs: 0 }],
  ['timeoutMs', { timeoutMs: Number.POSITIVE_INFINITY }],
])('%s is refused in %j, and nothing secret is shown', (name, options) => {
  const check = () => checkOptions({ ...GOOD, ...options });
  expect(check).toThrow(`createClient: ${name} must`);
  expect(check).not.toThrow('hunter2');
});

it('a key that is not set is refused, as it comes from an environment', () => {
  const unset = { ...GOOD, apiKey: undefined } as unknown as ClientOptions;
  expect(() => checkOptions(unset)).toThrow('createClient: apiKey must be an API key');
});

it('the version is that of the package', () => {
  const manifest = JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8')) as object;
  expect(manifest).toMatchObject({ version: CLIENT_VERSION });
});
