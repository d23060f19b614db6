// @ts-check
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { Problem } from '../problem.mjs';
import { cacheFolder, projectFolder } from '../project-folders.mjs';
import { findOnPath, runQuietly } from '../setup/run-command.mjs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

// It asks nobody for anything but the pages that it is sent to.
const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
];

/**
 * Starts a browser without a window: the one that CHROMIUM_PATH names, else one on the PATH, else the one of the
 * package `@sparticuz/chromium`.
 */
export async function launchBrowser() {
  const { executablePath, env } = await findBrowser();
  return await chromium.launch({ executablePath, args: QUIET, env: { ...givenVariables(), ...env } });
}

/** @returns {Promise<{ executablePath: string, env?: Record<string, string> }>} */
async function findBrowser() {
  const executablePath = process.env['CHROMIUM_PATH'] || NAMES.map(findOnPath).find(Boolean);
  return executablePath ? { executablePath } : await unpackChromium();
}

/** Those of our own environment that are set. */
function givenVariables() {
  const given = Object.entries(process.env).filter(([, value]) => value !== undefined);
  return /** @type {Record<string, string>} */ (Object.fromEntries(given));
}

const PACKAGE = '@sparticuz/chromium';
// That one has no font in which all letters are as wide as each other.
const MONO_PACKAGE = '@expo-google-fonts/jetbrains-mono';
// The package unpacks into TMPDIR, and its libraries only where it believes to be in a bare container of this name.
const UNPACK = `import('${PACKAGE}').then(({ default: chromium }) => chromium.executablePath())`;
const BARE_CONTAINER = 'AWS_Lambda_nodejs20.x';

/**
 * The browser that an npm package carries, for machines without one: unpacked once per version, into the cache folder.
 * @returns {Promise<{ executablePath: string, env: Record<string, string> }>} `env`: where its libraries and fonts are
 */
async function unpackChromium() {
  const [browser, mono] = await Promise.all([PACKAGE, MONO_PACKAGE].map(versionOf));
  const folder = join(cacheFolder, `chromium-${browser}-mono-${mono}`);
  if (!existsSync(folder)) await unpackInto(folder);
  return {
    executablePath: join(folder, 'chromium'),
    env: { LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'), FONTCONFIG_FILE: join(folder, 'fonts.conf') },
  };
}

/** @param {string} name */
async function versionOf(name) {
  return JSON.parse(await readFile(join(folderOf(name), 'package.json'), 'utf8')).version;
}

/** @param {string} name */
function folderOf(name) {
  return join(projectFolder, 'node_modules', name);
}

/**
 * Several may do this at once: each into a folder of its own, which becomes the wished one as a whole or not at all.
 * @param {string} folder
 */
async function unpackInto(folder) {
  await mkdir(cacheFolder, { recursive: true });
  const unpacking = await mkdtemp(`${folder}.`);
  try {
    const env = { ...process.env, TMPDIR: unpacking, AWS_EXECUTION_ENV: BARE_CONTAINER };
    const { code, errors } = await runQuietly([process.execPath, '-e', UNPACK], { env });
    if (code !== 0) throw new Problem(`${PACKAGE} can't be unpacked: ${errors}`);
    await writeFile(join(unpacking, 'fonts.conf'), describeFonts(folder));
    await rename(unpacking, folder).catch(() => undefined);
    if (!existsSync(folder)) throw new Problem(`${folder} can't be made.`);
  } finally {
    await rm(unpacking, { recursive: true, force: true });
  }
}

/**
 * Those of the machine, those of the package for a machine that has none, and for code the same one everywhere.
 * @param {string} folder
 */
function describeFonts(folder) {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir>${join(folder, 'fonts')}</dir>
  <dir>${join(folderOf(MONO_PACKAGE), '400Regular')}</dir>
  <match target="pattern">
    <test name="family"><string>monospace</string></test>
    <edit name="family" mode="prepend" binding="strong"><string>JetBrains Mono</string></edit>
  </match>
  <match target="pattern">
    <test name="family" qual="all" compare="not_eq"><string>monospace</string></test>
    <edit name="family" mode="append_last"><string>Open Sans</string></edit>
  </match>
  <cachedir>${join(folder, 'font-cache')}</cachedir>
</fontconfig>
`;
}
