// @ts-check
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * A secret of this machine, made once and kept in a file that only its owner can read.
 * @param {string} path
 * @param {{ form: RegExp, create: () => string }} secret
 * @returns {Promise<string>}
 */
export async function keepSecret(path, { form, create }) {
  const kept = (await readFile(path, 'utf8').catch(() => '')).trim();
  if (form.test(kept)) return kept;

  const secret = create();
  const unfinished = `${path}.${process.pid}`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(unfinished, `${secret}\n`, { mode: 0o600 });
  await chmod(unfinished, 0o600); // The mode above only counts if the file is new.
  await rename(unfinished, path);
  return secret;
}
