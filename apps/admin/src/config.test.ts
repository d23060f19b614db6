import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCliConfig } from './config';

const NOTED = 'redis://127.0.0.1:40123';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'webhooks-cli-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function noteUrl(dataFolder = '.data'): Promise<void> {
  await mkdir(join(folder, dataFolder));
  await writeFile(join(folder, dataFolder, 'redis-url'), `${NOTED}\n`);
}

const urlOf = (environment: Record<string, string>) => readCliConfig(environment, folder).REDIS_URL;

it('finds the Redis that npm start runs in this folder', async () => {
  await noteUrl();
  expect(urlOf({})).toBe(NOTED);
  expect(urlOf({ REDIS_URL: '' })).toBe(NOTED);
});

it('finds it where DATA_DIR says', async () => {
  await noteUrl('elsewhere');
  expect(urlOf({ DATA_DIR: 'elsewhere' })).toBe(NOTED);
});

it('takes the one that it is given all the same', async () => {
  await noteUrl();
  expect(urlOf({ REDIS_URL: 'redis://10.0.0.1:6379' })).toBe('redis://10.0.0.1:6379');
});

it('takes no other one where none is running, and says what to set', async () => {
  const empty = join(folder, 'empty');
  await writeFile(empty, '');
  for (const environment of [{}, { REDIS_URL: '' }, { REDIS_URL_FILE: empty }]) {
    expect(() => urlOf(environment)).toThrow('REDIS_URL: must be set, or REDIS_URL_FILE, to the Redis that');
  }
});

it('takes the one in a file that it is given, also beside a running one', async () => {
  await noteUrl();
  const file = join(folder, 'url');
  await writeFile(file, 'redis://10.0.0.2:6379');
  expect(urlOf({ REDIS_URL: '', REDIS_URL_FILE: file })).toBe('redis://10.0.0.2:6379');
});

it('takes the key that seals there, too', async () => {
  await noteUrl();
  const key = Buffer.alloc(32, 7).toString('base64');
  await writeFile(join(folder, '.data', 'secrets-encryption-key'), `${key}\n`);
  expect(readCliConfig({}, folder).SECRETS_ENCRYPTION_KEY).toHaveLength(1);
  const other = Buffer.alloc(32, 8).toString('base64');
  const two = readCliConfig({ SECRETS_ENCRYPTION_KEY: `${other},${key}` }, folder);
  expect(two.SECRETS_ENCRYPTION_KEY).toHaveLength(2);
});
