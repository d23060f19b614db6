import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = join(__dirname, '..', '..');

/** A folder of a stranger: empty, outside of the project, with nothing installed but what a test puts there. */
export async function makeFolder(): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'packed-'));
  await writeFile(join(path, 'package.json'), '{ "private": true }');
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/**
 * What would be published of a package: needs its build.
 *
 * @param folder below the project's: `packages/client`, or `node_modules/…` for one that is installed
 * @param into where the tarball is put
 * @returns the tarball's path
 */
export async function packPackage(folder: string, into: string): Promise<string> {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', into];
  const { stdout } = await run('npm', args, { cwd: join(ROOT, folder) });
  const [packed] = JSON.parse(stdout) as readonly { filename: string }[];
  if (!packed) throw new Error(`npm pack made nothing of ${folder}.`);
  return join(into, packed.filename);
}

/** Installs tarballs, and nothing else: what they depend on has to be among them. Needs no network. */
export async function installPackages(into: string, tarballs: readonly string[]): Promise<void> {
  const args = ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund', ...tarballs];
  await run('npm', args, { cwd: into });
}
