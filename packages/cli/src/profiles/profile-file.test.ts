import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { UsageError } from '../failures/usage-error';
import { ProfileFile } from './profile-file';
import { NO_PROFILES, withoutProfile, withProfile } from './profiles';

const PROFILE = { url: 'https://a.example', key: 'whk_a' };

let folder: string;
let file: ProfileFile;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'profiles-'));
  file = new ProfileFile(join(folder, 'config/hookferry/config.json'));
});
afterEach(() => rm(folder, { recursive: true }));

it('keeps profiles for the eyes of their user alone', async () => {
  const profiles = withProfile(NO_PROFILES, 'ci', PROFILE);
  await file.write(profiles);
  expect(await file.read()).toEqual(profiles);
  expect((await stat(file.path)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(file.path))).mode & 0o777).toBe(0o700);
  expect(await readdir(dirname(file.path))).toEqual(['config.json']);
});

it('has none before the first login', async () => {
  expect(await file.read()).toEqual(NO_PROFILES);
});

it('refuses a file that others can read, and says how to close it', async () => {
  await file.write(withProfile(NO_PROFILES, 'ci', PROFILE));
  await chmod(file.path, 0o640);
  await expect(file.read()).rejects.toMatchObject({ advice: expect.stringContaining('chmod 600') });
  await expect(new ProfileFile(file.path, 'win32').read()).resolves.toMatchObject({ current: 'ci' });
});

it.each(['', '[]', '{"current":"a"}', '{"current":"a","profiles":{"a":{"url":"x"}}}'])(
  'refuses %p',
  async (text) => {
    await file.write(NO_PROFILES);
    await writeFile(file.path, text);
    await expect(file.read()).rejects.toThrow(UsageError);
  },
);

it('takes another profile when the current one is forgotten', () => {
  const both = withProfile(withProfile(NO_PROFILES, 'a', PROFILE), 'b', PROFILE);
  expect(withoutProfile(both, 'b').current).toBe('a');
  expect(withoutProfile(both, 'a').current).toBe('b');
});
