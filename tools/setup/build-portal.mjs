// @ts-check
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../problem.mjs';
import { projectFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { findSources } from './build-programs.mjs';
import { fingerprintFiles } from './fingerprint-files.mjs';
import { runQuietly } from './run-command.mjs';
import { StepStamp } from './step-stamp.mjs';

const PORTAL = join('apps', 'portal');
const NOT_SOURCES = ['dist', 'node_modules'];
// It shows what stands there.
const DOCS = ['deliveries.md', 'verifying-signatures.md'].map((page) => join('docs', page));

/**
 * Builds the pages that the API serves; does nothing if neither sources nor output changed since. What they use of other
 * packages has to be compiled before.
 * @param {{ signal?: AbortSignal }} [options]
 */
export async function buildPortal({ signal } = {}) {
  const stamp = new StepStamp('portal');
  const fingerprint = await fingerprintFiles([
    ...(await findPortalFiles()),
    ...(await findSources([PORTAL])),
    ...DOCS,
  ]);
  const isBuilt = existsSync(join(projectFolder, PORTAL, 'dist', 'index.html'));
  if (isBuilt && (await stamp.matches(fingerprint))) return;

  say('setup', 'building the portal (vite build)');
  await stamp.clear();
  const { code, output, errors } = await runQuietly(
    ['npm', 'run', '-s', 'build', '-w', '@hookferry/portal'],
    {
      ...(signal && { signal }),
    },
  );
  if (code !== 0) throw new Problem(`The portal can't be built:\n${output}${errors}`);
  await stamp.write(fingerprint);
}

async function findPortalFiles() {
  const entries = await readdir(join(projectFolder, PORTAL), { withFileTypes: true });
  const own = entries.filter(({ name }) => !NOT_SOURCES.includes(name));
  const found = own.map(async (entry) => {
    const path = join(PORTAL, entry.name);
    if (entry.isFile()) return [path];
    const inside = await readdir(join(projectFolder, path), { recursive: true, withFileTypes: true });
    return inside.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  });
  const files = (await Promise.all(found)).flat();
  return files.map((file) => file.replace(`${projectFolder}/`, '')).sort();
}
