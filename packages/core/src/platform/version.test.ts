import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { PROJECT_URL, VERSION } from './version';

const PROJECT = resolve(__dirname, '../../../..');
const packageSchema = z.looseObject({ version: z.string() });

const folders = ['apps', 'packages'].flatMap((group) =>
  readdirSync(join(PROJECT, group)).map((name) => join(group, name)),
);

it.each(['.', ...folders])('is that of %s', (folder) => {
  const text = readFileSync(join(PROJECT, folder, 'package.json'), 'utf8');
  expect(packageSchema.parse(JSON.parse(text)).version).toBe(VERSION);
});

it('has the address that package.json has', () => {
  const text = readFileSync(join(PROJECT, 'package.json'), 'utf8');
  expect(JSON.parse(text)).toMatchObject({
    homepage: PROJECT_URL,
    repository: { url: `git+${PROJECT_URL}.git` },
  });
});
