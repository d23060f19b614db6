import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { PROJECT } from './pack-package';
import { runWell } from './run-program';

// Everything is compiled once: on a busy machine that takes longer than a test may.
const COMPILE_TIMEOUT_MS = 600_000;

/** What git has of this project as far as `npm start` compiles it, and what is installed: nothing that was compiled before. */
let clone: string;

beforeAll(async () => {
  clone = await mkdtemp(join(tmpdir(), 'clone-'));
  const parts = ['tsconfig.base.json', 'package.json', 'package-lock.json', 'docs/openapi.json'];
  const folders = ['packages', 'apps', 'tools', 'examples/saas'];
  const listed = await runWell(
    'git',
    ['ls-files', '-co', '--exclude-standard', ...parts, ...folders],
    PROJECT,
  );
  for (const path of listed.trim().split('\n')) await cp(join(PROJECT, path), join(clone, path));
  await linkInstalled();
}, COMPILE_TIMEOUT_MS);
afterAll(() => rm(clone, { recursive: true, force: true }));

const OWN = ['.cache', '@types', '@hookferry', 'hookferry-server'];

/** Packages of others are linked to, so that none is fetched; our own are those of the clone. */
async function linkInstalled(): Promise<void> {
  const workspaces = await Promise.all(
    ['packages', 'apps'].map(async (group) =>
      (await readdir(join(clone, group))).map((name) => join(group, name)),
    ),
  );
  for (const folder of ['.', ...workspaces.flat()]) await linkInto(join(folder, 'node_modules'));
  const own = workspaces.flat().map(async (folder) => {
    const { name } = JSON.parse(await readFile(join(clone, folder, 'package.json'), 'utf8'));
    await link(join(clone, folder), join(clone, 'node_modules', name));
  });
  await Promise.all(own);
}

async function linkInto(folder: string): Promise<void> {
  const installed = await readdir(join(PROJECT, folder)).catch((): string[] => []);
  const others = installed.filter((name) => !OWN.includes(name));
  // The compiler names what it infers by where it really is.
  if (installed.includes('@types'))
    await cp(join(PROJECT, folder, '@types'), join(clone, folder, '@types'), { recursive: true });
  await mkdir(join(clone, folder, '.cache'), { recursive: true });
  await Promise.all(others.map((name) => link(join(PROJECT, folder, name), join(clone, folder, name))));
}

/** Relative within the clone, as npm links. */
async function link(target: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(target.startsWith(clone) ? relative(dirname(path), target) : target, path);
}

it(
  'after `npm start` the page of the shop is built from the folder of the portal, with one React in it',
  async () => {
    const compile = `
    import { compilePrograms } from './tools/setup/build.mjs';
    import { writeSources } from './tools/setup/install-dependencies.mjs';
    await writeSources({});
    await compilePrograms({ isUnchecked: true });`;
    await runWell(process.execPath, ['--input-type=module', '-e', compile], clone);

    // As `npm install` leaves it: links to our packages, and a React of its own.
    const shop = join(clone, 'examples/saas');
    for (const name of ['client', 'portal'])
      await link(join(clone, 'packages', name), join(shop, 'node_modules/@hookferry', name));
    for (const name of ['react', 'react-dom', 'scheduler', 'openapi-fetch'])
      await cp(join(PROJECT, 'node_modules', name), join(shop, 'node_modules', name), { recursive: true });
    await runWell('npm', ['run', 'build', '--', '--metafile=inputs.json'], shop);
    const { inputs } = JSON.parse(await readFile(join(shop, 'inputs.json'), 'utf8'));
    const paths = Object.keys(inputs);
    expect(paths).toContainEqual(expect.stringMatching(/portal\/dist\/hooks\.js$/));
    // Of two Reacts, hooks of the portal would ask the one that renders nothing.
    expect(paths.filter((path) => path.endsWith('/react.production.js'))).toHaveLength(1);
  },
  COMPILE_TIMEOUT_MS,
);

it.each(['outbox', 'portal'])(
  '`npm pack` compiles %s if nobody has, or fails',
  async (name) => {
    const folder = join(clone, 'packages', name);
    await rm(join(folder, 'dist'), { recursive: true, force: true });
    await runWell('npm', ['pack', '--pack-destination', clone], folder);
    const listed = await runWell('tar', ['-tzf', `hookferry-${name}-0.1.0.tgz`], clone);
    expect(listed).toContain('package/dist/index.js\n');
    expect(listed).toContain('package/dist/index.d.ts\n');
  },
  COMPILE_TIMEOUT_MS,
);

it('each package that is published is compiled before it is packed, and is in a release', async () => {
  const names = await readdir(join(PROJECT, 'packages'));
  const manifests = await Promise.all(
    names.map(async (name) =>
      JSON.parse(await readFile(join(PROJECT, 'packages', name, 'package.json'), 'utf8')),
    ),
  );
  const published = names.filter((_, index) => !manifests[index].private);
  for (const name of published)
    expect([name, manifests[names.indexOf(name)].scripts?.prepack]).toEqual([
      name,
      expect.stringMatching(/^tsc -b(?: && npm run -s bundle)?$/),
    ]);
  const release = await readFile(join(PROJECT, '.github/workflows/release.yml'), 'utf8');
  const loops = [...release.matchAll(/for package in (.*); do/g)].map(([, list = '']) =>
    list.split(' ').sort(),
  );
  expect(loops).toEqual([published, published]);
});
