import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const PROJECT = join(__dirname, '..', '..');

/** The packages that development needs and production does not. */
export async function readDevelopmentDependencies(): Promise<ReadonlySet<string>> {
  const folders = ['.', ...(await workspaceManifests()).map(dirname)];
  const manifests = await Promise.all(folders.map((path) => readManifest(join(PROJECT, path))));
  const production = new Set(manifests.flatMap(({ dependencies = {} }) => Object.keys(dependencies)));
  const development = manifests.flatMap(({ devDependencies = {} }) => Object.keys(devDependencies));
  return new Set(development.filter((name) => !production.has(name)));
}

/** The path of the manifest of every workspace, from the root of the project. */
export async function workspaceManifests(): Promise<string[]> {
  const { workspaces = [] } = await readManifest(PROJECT);
  const manifests = await Promise.all(
    workspaces.map(async (pattern) => {
      const parent = pattern.replace(/\/\*$/, '');
      const names = await readdir(join(PROJECT, parent));
      return names.map((name) => `${parent}/${name}/package.json`);
    }),
  );
  const exist = await Promise.all(
    manifests.flat().map(async (path) => ((await isFile(join(PROJECT, path))) ? path : undefined)),
  );
  return exist.filter((path) => path !== undefined);
}

async function isFile(path: string): Promise<boolean> {
  return await stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

interface Manifest {
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

async function readManifest(packageFolder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')) as Manifest;
}
