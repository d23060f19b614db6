import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = join(__dirname, '..', '..');
const WORKSPACE_SCOPE = '@webhooks';

/**
 * A former version of this repository, built from its own history with the packages that are installed here.
 *
 * @param root of this checkout.
 * @returns the folder that it was built in, which is kept for the next time.
 * @throws when the history does not reach back to it: a shallow clone needs `git fetch --unshallow` first.
 */
export async function buildFormerVersion(commit: string, root: string = ROOT): Promise<string> {
  const folder = join(root, 'node_modules', '.cache', 'former', commit);
  if (existsSync(folder)) return folder;
  const draft = `${folder}.${process.pid}`;
  await mkdir(draft, { recursive: true });
  await run('sh', ['-c', `git -C "${root}" archive ${commit} | tar -x -C "${draft}"`]);
  await linkPackages(draft, root);
  await run(
    process.execPath,
    [join(root, 'node_modules/typescript/bin/tsc'), '-b', 'apps/api', 'apps/worker'],
    {
      cwd: draft,
    },
  );
  // Whole or not at all: a build that broke off is not taken for one. Who comes second uses the first one's.
  await rename(draft, folder).catch(() => rm(draft, { recursive: true, force: true }));
  return folder;
}

// Its own workspaces, and everybody else's packages from here.
async function linkPackages(folder: string, root: string): Promise<void> {
  const installed = join(root, 'node_modules');
  const names = (await readdir(installed)).filter((name) => name !== WORKSPACE_SCOPE && name !== '.cache');
  const own = join(folder, 'node_modules');
  await mkdir(join(own, WORKSPACE_SCOPE), { recursive: true });
  await Promise.all(names.map((name) => symlink(join(installed, name), join(own, name))));
  for (const name of ['core', 'signature']) {
    await symlink(join('..', '..', 'packages', name), join(own, WORKSPACE_SCOPE, name));
    const nested = join(root, 'packages', name, 'node_modules');
    if (existsSync(nested)) await symlink(nested, join(folder, 'packages', name, 'node_modules'));
  }
}
