// @ts-check
/**
 * A part of `npm run generate`: writes `packages/client/src/schema.ts` from `docs/openapi.json`: its types, and the routes that take an
 * `Idempotency-Key`. npm runs it after it has installed, and so does all that compiles: does nothing if the file is current.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { projectFolder } from './project-folders.mjs';

const KEY_PARAMETER = '#/components/parameters/IdempotencyKey';
const METHODS = ['get', 'put', 'post', 'patch', 'delete'];

const documentPath = join(projectFolder, 'docs/openapi.json');
const clientFolder = join(projectFolder, 'packages/client');
const schemaPath = join(clientFolder, 'src/schema.ts');

const document = readFileSync(documentPath);
const head = `// Written by \`npm run generate\`; change nothing here. Of ${fingerprintSources()}\n`;
// Who installs without what development needs compiles nothing.
const canBeMade = !(process.env['npm_config_omit'] ?? '').includes('dev');
if (canBeMade && !isCurrent()) {
  writeFileSync(schemaPath, [head, await describeTypes(), listRoutes()].join('\n'));
}

function isCurrent() {
  try {
    return readFileSync(schemaPath, 'utf8').startsWith(head);
  } catch {
    return false;
  }
}

/** Of what the file is made of, and of what makes it. */
function fingerprintSources() {
  const own = readFileSync(fileURLToPath(import.meta.url));
  const manifest = readFileSync(join(clientFolder, 'package.json'));
  return createHash('sha256').update(document).update(own).update(manifest).digest('hex');
}

async function describeTypes() {
  // The client has it, beside the TypeScript 5 that it needs: TypeScript 7 has no API for it.
  const { default: openapiTypes, astToString } = createRequire(join(clientFolder, 'package.json'))(
    'openapi-typescript',
  );
  // A member with a default may be left out of a request; openapi-typescript's own choice is that it may not.
  return astToString(await openapiTypes(pathToFileURL(documentPath), { defaultNonNullable: false }));
}

function listRoutes() {
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
