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

it.each(['.', ...folders, 'site'])('has the address that the package.json of %s has', (folder) => {
  const text = readFileSync(join(PROJECT, folder, 'package.json'), 'utf8');
  expect(JSON.parse(text)).toMatchObject({ repository: { url: `git+${PROJECT_URL}.git` } });
});

it.each(folders.filter((folder) => !isPrivate(folder)))('describes %s for the registry', (folder) => {
  const { description, keywords, ...rest } = z
    .looseObject({ description: z.string().min(20), keywords: z.array(z.string()).min(4) })
    .parse(JSON.parse(readFileSync(join(PROJECT, folder, 'package.json'), 'utf8')));
  expect(rest).toMatchObject({
    license: 'MIT',
    homepage: `${PROJECT_URL}/tree/main/${folder}#readme`,
    bugs: `${PROJECT_URL}/issues`,
    repository: { directory: folder },
  });
  expect([description, ...keywords].join(' ')).toContain('webhook');
  // npm packs the licence of the folder, and no other.
  expect(readFileSync(join(PROJECT, folder, 'LICENSE'))).toEqual(readFileSync(join(PROJECT, 'LICENSE')));
});

it.each([
  ['package.json', `"homepage": "${PROJECT_URL}"`],
  ['clients/python/pyproject.toml', `Repository = "${PROJECT_URL}"`],
  ['docker/helm/Chart.yaml', `home: ${PROJECT_URL}\n`],
  ['docker/Dockerfile', `ARG VERSION=${VERSION}\n`],
  ['docker/Dockerfile', `LABEL org.opencontainers.image.source=${PROJECT_URL} `],
])('has the version and the address that %s has', (file, address) => {
  expect(readFileSync(join(PROJECT, file), 'utf8')).toContain(address);
});

function isPrivate(folder: string): boolean {
  return readFileSync(join(PROJECT, folder, 'package.json'), 'utf8').includes('"private": true');
}
