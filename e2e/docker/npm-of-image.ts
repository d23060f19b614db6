import { execFile } from 'node:child_process';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The npm that comes with the Node.js of the base image: other versions judge a lock file differently. */
const NPM_VERSION = '11.19.0';

/** Fetches it once. Resolves with the folder that has its `npm` and `npx`. */
export async function provideNpmOfImage(projectFolder: string): Promise<string> {
  const folder = join(projectFolder, 'node_modules/.cache', `npm-${NPM_VERSION}`);
  const programs = join(folder, 'node_modules/.bin');
  if (await stat(join(programs, 'npx')).catch(() => undefined)) return programs;
  await mkdir(folder, { recursive: true });
  await run('npm', [
    'install',
    '--prefix',
    folder,
    '--no-save',
    '--no-audit',
    '--no-fund',
    `npm@${NPM_VERSION}`,
  ]);
  return programs;
}

const PASSED_ON =
  /^(HOME|NODE_EXTRA_CA_CERTS|https?_proxy|no_proxy|npm_config_(registry|cache|cafile|userconfig|globalconfig))$/i;

/** Where npm finds its registry and its cache on this machine; nothing else of our environment. */
export function npmSettings(environment: NodeJS.ProcessEnv): Record<string, string> {
  // What is in the cache already need not be asked for again.
  const settings: Record<string, string> = { npm_config_prefer_offline: 'true' };
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && PASSED_ON.test(name)) settings[name] = value;
  }
  return settings;
}
