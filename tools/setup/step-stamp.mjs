// @ts-check
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { projectFolder } from '../project-folders.mjs';

/**
 * Remembers what a step of the set-up was last done for, so that it is done again only when that changed.
 * Lives inside node_modules: whoever deletes that folder starts from nothing, and `npm ci` begins by
 * deleting it, so an installation that was interrupted leaves no stamp behind.
 */
export class StepStamp {
  #path;

  /** @param {string} step */
  constructor(step) {
    this.#path = join(projectFolder, 'node_modules', '.cache', 'setup', step);
  }

  /** @param {string} fingerprint */
  async matches(fingerprint) {
    const kept = await readFile(this.#path, 'utf8').catch(() => undefined);
    return kept === fingerprint;
  }

  /** To be called before the step begins: half a step must not look like a whole one. */
  async clear() {
    await rm(this.#path, { force: true });
  }

  /** @param {string} fingerprint */
  async write(fingerprint) {
    await mkdir(dirname(this.#path), { recursive: true });
    await writeFile(this.#path, fingerprint);
  }
}

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
