// @ts-check
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectFolder } from '../project-folders.mjs';

/**
 * The same for as long as none of them has changed, come or gone.
 * @param {readonly string[]} files relative to the project, in a stable order
 */
export async function fingerprintFiles(files) {
  const hash = createHash('sha256');
  const contents = await Promise.all(files.map((file) => readFile(join(projectFolder, file))));
  files.forEach((file, index) =>
    hash
      .update(`${file}\0`)
      .update(contents[index] ?? '')
      .update('\0'),
  );
  return `${hash.digest('hex')}\n`;
}
