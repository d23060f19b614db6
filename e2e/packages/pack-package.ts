import { cp, mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runWell } from './run-program';

export const PROJECT = join(__dirname, '../..');

/** From here a copy of a package finds what the package finds from its own folder. */
const COPIES = join(PROJECT, 'node_modules/.cache');

/** A program of this project's development dependencies, such as `tsc`. */
export const programOf = (name: string) => join(PROJECT, 'node_modules/.bin', name);

/** Where what was packed lies. Whoever packs removes the folder. */
export interface PackedPackage {
  readonly folder: string;
  /** The path of the tarball. */
  readonly tarball: string;
  /** The paths in it, below `package/`, in order. */
  readonly files: readonly string[];
}

/**
 * Builds one of `packages/*` and packs it as it would be published. From a copy, so that nothing of the packing is left
 * in the project, and several can be packed at the same time.
 */
export async function packPackage(name: string): Promise<PackedPackage> {
  await runWell(programOf('tsc'), ['-b', `packages/${name}`], PROJECT);
  await mkdir(COPIES, { recursive: true });
  const folder = await mkdtemp(join(COPIES, `packed-${name}-`));
  const copy = join(folder, 'source');
  const source = join(PROJECT, 'packages', name);
  await cp(source, copy, {
    recursive: true,
    filter: (path) => !path.includes('node_modules', source.length),
  });
  // What `prepack` does, without the compiler: it would look for the project around the copy.
  await runWell('npm', ['run', '--if-present', 'bundle'], copy);
  await runWell('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], copy);
  const archive = (await readdir(folder)).find((file) => file.endsWith('.tgz'));
  if (archive === undefined) throw new Error(`npm pack left no tarball in ${folder}.`);
  const tarball = join(folder, archive);
  const listed = await runWell('tar', ['-tzf', tarball], folder);
  const files = listed.trim().split('\n');
  return { folder, tarball, files: files.map((file) => file.replace(/^package\//, '')).sort() };
}
