// @ts-check
import { randomBytes, randomInt } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { projectFolder } from '../project-folders.mjs';

/**
 * Whether the user has set a variable, as itself or, as can be done with any secret, as a file (`X_FILE`).
 * One that is empty counts as not set.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} name
 */
export function isGiven(env, name) {
  return Boolean(env[name]) || Boolean(env[`${name}_FILE`]);
}

/**
 * The environment with `defaults` for what the user has not set.
 * @param {NodeJS.ProcessEnv} env
 * @param {Readonly<Record<string, string>>} defaults
 * @returns {NodeJS.ProcessEnv}
 */
export function withDefaults(env, defaults) {
  const missing = Object.entries(defaults).filter(([name]) => !isGiven(env, name));
  return { ...env, ...Object.fromEntries(missing) };
}

const API_KEY_FORM = /^whk_[0-9a-z]{16}_[0-9A-Za-z]{32,}$/;
const DIGITS = '0123456789';
const LOWER_CASE = 'abcdefghijklmnopqrstuvwxyz';

/**
 * The key with every right: the user's own if there is one, else one that is made once for each data folder.
 * @param {NodeJS.ProcessEnv} env
 * @param {string} dataFolder
 * @returns {Promise<string>}
 */
export async function provideApiKey(env, dataFolder) {
  if (isGiven(env, 'BOOTSTRAP_API_KEY')) return await readGivenKey(env);
  return await keepSecret(join(dataFolder, 'api-key'), { form: API_KEY_FORM, create: createApiKey });
}

/** @param {NodeJS.ProcessEnv} env */
async function readGivenKey({ BOOTSTRAP_API_KEY: key, BOOTSTRAP_API_KEY_FILE: file }) {
  return key ? key : (await readFile(String(file), 'utf8')).trim();
}

function createApiKey() {
  const id = randomText(16, DIGITS + LOWER_CASE);
  const secret = randomText(40, DIGITS + LOWER_CASE + LOWER_CASE.toUpperCase());
  return `whk_${id}_${secret}`;
}

/**
 * @param {number} length
 * @param {string} alphabet
 */
function randomText(length, alphabet) {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}

// The base64 of 32 bytes.
const ENCRYPTION_KEY_FORM = /^[A-Za-z0-9+/]{43}=$/;

/**
 * The key that secrets are sealed with on this machine: made once for each data folder, and as lost as that is.
 * @param {string} dataFolder
 */
export async function provideEncryptionKey(dataFolder) {
  const create = () => randomBytes(32).toString('base64');
  return await keepSecret(join(dataFolder, 'secrets-encryption-key'), { form: ENCRYPTION_KEY_FORM, create });
}

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

/**
 * Writes `env` into the data folder: sourced by a shell, it has the API's address and its key, and finds the command line.
 * @param {string} dataFolder
 * @param {{ apiUrl: string, apiKey: string }} service
 * @returns {Promise<string>} the path of the file
 */
export async function keepShellVariables(dataFolder, { apiUrl, apiKey }) {
  const path = join(dataFolder, 'env');
  const lines = [
    `export HOOKFERRY_URL=${quote(apiUrl)}`,
    `export HOOKFERRY_API_KEY=${quote(apiKey)}`,
    `export PATH=${quote(join(projectFolder, 'node_modules', '.bin'))}:"$PATH"`,
  ];
  await rm(path, { force: true }); // The mode only counts if the file is new.
  await writeFile(path, `${lines.join('\n')}\n`, { mode: 0o600 });
  return path;
}

/** @param {string} text */
function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
