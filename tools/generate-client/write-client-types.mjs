// @ts-check
/**
 * `npm run client-types`: writes `packages/client/src/schema.ts` from `docs/openapi.json`: its types, and the routes that
 * take an `Idempotency-Key`. In the head is the SHA-256 of the document, by which a test sees whether the file is current.
 *
 * This folder has packages of its own: openapi-typescript needs the compiler's API, which TypeScript 7 has not.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { installedProgram, projectFolder } from '../project-folders.mjs';

const KEY_PARAMETER = '#/components/parameters/IdempotencyKey';
const METHODS = ['get', 'put', 'post', 'patch', 'delete'];

const documentPath = fileURLToPath(new URL('../../docs/openapi.json', import.meta.url));
const outputPath = fileURLToPath(new URL('../../packages/client/src/schema.ts', import.meta.url));

const source = readFileSync(documentPath);
writeFileSync(outputPath, [describeSource(source), writeTypes(), listRoutes(source)].join('\n'));
execFileSync(installedProgram('biome'), ['format', '--write', outputPath], { cwd: projectFolder });

/** @param {Buffer} document */
function describeSource(document) {
  const digest = createHash('sha256').update(document).digest('hex');
  return `// Written by \`npm run client-types\` from docs/openapi.json; change nothing here.\n// docs/openapi.json: sha256 ${digest}\n`;
}

function writeTypes() {
  const program = fileURLToPath(new URL('node_modules/.bin/openapi-typescript', import.meta.url));
  // A member with a default may be left out of a request; openapi-typescript's own choice is that it may not.
  const args = [documentPath, '--default-non-nullable', 'false'];
  const types = execFileSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  return types.slice(types.indexOf('export interface paths'));
}

/** @param {Buffer} document */
function listRoutes(document) {
  const { paths } = JSON.parse(document.toString('utf8'));
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    METHODS.filter((method) => takesKey(operations[method])).map(
      (method) => `  '${method.toUpperCase()} ${path}',\n`,
    ),
  );
  if (routes.length === 0) throw new Error(`No operation of ${documentPath} refers to ${KEY_PARAMETER}.`);
  return `/** Routes that take an \`Idempotency-Key\`. */\nexport const routesWithIdempotencyKey: ReadonlySet<string> = new Set([\n${routes.join('')}]);\n`;
}

/** @param {{ parameters?: readonly { $ref?: string }[] } | undefined} operation */
function takesKey(operation) {
  return (operation?.parameters ?? []).some(({ $ref }) => $ref === KEY_PARAMETER);
}
