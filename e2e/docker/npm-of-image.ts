import { execFile } from 'node:child_process';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The npm that comes with the Node.js of the base image: other versions read a lock file differently. */
export const NPM_VERSION = '11.19.0';

const CACHE = join(__dirname, '../../node_modules/.cache');

/** Fetches it once. Resolves with the folder that has its `npm` and `npx`. */
export async function provideNpmOfImage(): Promise<string> {
  const prefix = join(CACHE, `npm-${NPM_VERSION}`);
  const commands = join(prefix, 'node_modules/.bin');
  if (await stat(join(commands, 'npx')).catch(() => undefined)) return commands;
  await mkdir(prefix, { recursive: true });
  const options = ['--prefix', prefix, '--no-save', '--no-audit', '--no-fund'];
  await promisify(execFile)('npm', ['install', ...options, `npm@${NPM_VERSION}`]);
  return commands;
}
