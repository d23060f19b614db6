// @ts-check
/**
 * `npm run generate`: writes all files that are made of others, in the order in which they need each other, and says what it wrote and
 * what is left to do by hand. Tests compare what is checked in with what the code says.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { describeError, Problem } from './problem.mjs';
import { installedProgram, projectFolder } from './project-folders.mjs';
import { say } from './say.mjs';
import { completeInstallation, writeSources } from './setup/install-dependencies.mjs';
import { runInForeground } from './setup/run-command.mjs';

const DESCRIPTION = join(projectFolder, 'docs/openapi.json');
const EXAMPLES = 'apps/api/src/openapi/answer-examples.json';
const BOUNDS = 'conformance/bounds.json';
const EVERY_RESPONSE = 'apps/api/src/openapi/every-response';
const node = process.execPath;
/** What containers have in one way alone, or under a name of the chart's own. */
const NOT_DEPLOYED = new Set([
  ...['HOOKFERRY_REVISION', 'NODE_ENV', 'API_HOST', 'API_PORT', 'WORKER_HOST', 'WORKER_PORT', 'REDIS_URL'],
  ...['SECRETS_ENCRYPTION_KEY', 'INSECURE_UNENCRYPTED_SECRETS', 'BOOTSTRAP_API_KEY', 'DELIVERY_PROXY_URL'],
]);

try {
  await completeInstallation();
  const before = changedFiles();
  await writeSources({});
  await compile();
  await run([node, 'tools/write-openapi.mjs']);
  if (areExamplesOld()) {
    say('generate', 'asking each route for an example of its answers: a minute or two');
    await run([node, 'tools/test-one.mjs', EVERY_RESPONSE], { WRITE_EXAMPLES: '1' });
    await run([installedProgram('biome'), 'format', '--write', EXAMPLES]);
    await compile();
    await run([node, 'tools/write-openapi.mjs']);
  }
  await run([node, 'tools/write-client-types.mjs']);
  await run([node, 'conformance/write-bounds.mjs']);
  await run([installedProgram('biome'), 'format', '--write', BOUNDS]);
  for (const name of ['configuration', 'explanations', 'metrics', 'logs']) {
    await run([node, `tools/write-${name}.mjs`]);
  }
  await run([node, 'tools/figures.mjs']);
  await run([node, 'tools/house.mjs', '--write']);
  await run([node, 'tools/texts.mjs']);
  const written = [...changedFiles()].filter(([path, hash]) => before.get(path) !== hash);
  for (const [path] of written) say('generate', `wrote ${path}`);
  const left = leftByHand();
  for (const each of left) say('generate', `left to do by hand: ${each}`);
  if (left.length === 0)
    say('generate', 'nothing is left that a command can see; docs/inside/adding.md has the rest');
} catch (error) {
  say('generate', describeError(error));
  process.exitCode = 1;
}

async function compile() {
  await run([installedProgram('tsc'), '-b', 'apps/api', 'apps/worker', 'apps/admin']);
}

/**
 * @param {readonly [string, ...string[]]} command
 * @param {Readonly<Record<string, string>>} [environment] beside our own
 */
async function run(command, environment = {}) {
  const code = await runInForeground(command, { env: { ...process.env, ...environment } });
  if (code !== 0)
    throw new Problem(
      `${command.slice(-2).join(' ')} has failed: see above. What follows it was not written.`,
    );
}

/** Files that are not as they were committed, with the hash of each. */
function changedFiles() {
  const options = /** @type {const} */ ({ cwd: projectFolder, encoding: 'utf8' });
  const listed = execFileSync('git', ['ls-files', '-mo', '--exclude-standard'], options);
  const paths = listed.split('\n').filter((path) => path !== '' && existsSync(join(projectFolder, path)));
  return new Map(paths.map((path) => [path, createHash('sha256').update(readText(path)).digest('hex')]));
}

/** Whether an answer has no example, or one that its schema refuses. */
function areExamplesOld() {
  const description = JSON.parse(readFileSync(DESCRIPTION, 'utf8'));
  const { Ajv2020 } = createRequire(join(projectFolder, 'apps/api/package.json'))('ajv/dist/2020.js');
  const ajv = new Ajv2020({ strict: false, validateSchema: false, validateFormats: false });
  ajv.addSchema(description, 'description');
  return Object.entries(description.paths).some(([path, operations]) =>
    Object.entries(operations).some(([method, { responses = {} }]) =>
      Object.entries(responses).some(([status, { content = {} }]) => {
        const { example, schema } = content['application/json'] ?? {};
        if (schema === undefined || !/^2/.test(status)) return false;
        const place = ['paths', path, method, 'responses', status, 'content', 'application/json', 'schema'];
        const pointer = place.map((name) =>
          encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1')),
        );
        return example === undefined || !ajv.validate({ $ref: `description#/${pointer.join('/')}` }, example);
      }),
    ),
  );
}

/** @returns {readonly string[]} */
function leftByHand() {
  /** @type {{ readonly settings: readonly { readonly name: string }[] }} */
  const { settings } = JSON.parse(readText('apps/admin/src/explanations.json'));
  const deployed = settings.filter(({ name }) => !NOT_DEPLOYED.has(name));
  const missing = ['docker/compose.yaml', 'docker/helm'].flatMap((place) => {
    const words = new Set(filesIn(place).flatMap((path) => readText(path).match(/\w+/g) ?? []));
    return deployed.filter(({ name }) => !words.has(name)).map(({ name }) => `${place} has no ${name}`);
  });
  const untranslated = filesIn('apps/portal/src/language/messages').flatMap((path) => {
    const count = readText(path).match(/^msgstr ""$(?!\n")/gm)?.length ?? 0;
    return count === 0 ? [] : [`${path}: ${count} texts without a translation`];
  });
  return [...missing, ...untranslated];
}

/** The file, or all files of the folder. @param {string} path @returns {readonly string[]} */
function filesIn(path) {
  if (statSync(join(projectFolder, path)).isFile()) return [path];
  const entries = readdirSync(join(projectFolder, path), { recursive: true, withFileTypes: true });
  return entries
    .filter((each) => each.isFile())
    .map((each) => relative(projectFolder, join(each.parentPath, each.name)));
}

/** @param {string} path */
function readText(path) {
  return readFileSync(join(projectFolder, path), 'utf8');
}
