// @ts-check
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolder } from '../project-folders.mjs';
import { say } from '../say.mjs';
import { runQuietly } from '../setup/run-command.mjs';

/** @import { RedisSource } from './provide-redis.mjs' */

const PACKAGE = 'js-redis-server';
const VERSION = '0.3.0';

/** A Redis written in JavaScript: about 20 times slower, in memory only. @type {RedisSource} */
export async function findJavascriptRedis() {
  const folder = join(cacheFolder, `${PACKAGE}-${VERSION}`);
  const entry = join(folder, 'node_modules', PACKAGE, 'dist', 'index.js');
  if (!existsSync(entry)) {
    say('setup', `fetching ${PACKAGE} ${VERSION} from npm into ${folder}`);
    const refusal = await install(folder);
    if (refusal !== undefined) return { refusal };
  }
  const program = fileURLToPath(new URL('./javascript-redis-server.mjs', import.meta.url));
  return {
    program: {
      command: [process.execPath, program, entry],
      version: `${PACKAGE} ${VERSION}`,
      keepsData: false,
    },
  };
}

/**
 * @param {string} folder
 * @returns {Promise<string | undefined>} why it could not be installed
 */
async function install(folder) {
  await mkdir(folder, { recursive: true });
  // A package of its own: without this file npm would look for one in the folders above, and find ours.
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
  const options = ['--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  const { code, errors } = await runQuietly(
    // npm would try for minutes: without a network the user should soon learn what to do instead.
    ['npm', 'install', ...options, '--fetch-retries=0', `${PACKAGE}@${VERSION}`],
    { cwd: folder },
  );
  return code === 0 ? undefined : `npm cannot install ${PACKAGE}: ${errors.trim()}`;
}
