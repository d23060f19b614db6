import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Express, RequestHandler } from 'express';
import { contentSecurityPolicy } from 'helmet';
import { etagOf } from './send-reply';

// One file with everything it needs: nothing is loaded from elsewhere.
const REDOC = 'redoc/bundles/redoc.standalone.js';

/** The page may run that file, which sets its own styles, and read the description. */
const pageSecurity = contentSecurityPolicy({
  useDefaults: false,
  directives: {
    'default-src': ["'none'"],
    'script-src': ["'self'"],
    'style-src': ["'unsafe-inline'"],
    'connect-src': ["'self'"],
    'img-src': ['data:'],
    // Its search.
    'worker-src': ['blob:'],
    'frame-ancestors': ["'none'"],
  },
});

// Addresses are relative, so that the page also works below the prefix of a proxy.
const PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Hookferry API</title><meta name="viewport" content="width=device-width"></head>
<body style="margin:0"><redoc spec-url="openapi.json"></redoc><script src="docs/redoc.js"></script></body>
</html>
`;

/**
 * The API's description, for programs and for people, without a key. It is in memory once, however many
 * clients ask for it: all unread responses share the same bytes. To describe all routes takes a quarter of a
 * second of processor time, so `npm run generate` has written it down.
 *
 * @param folder has `openapi.json`.
 */
export function mountDocs(app: Express, folder: string): void {
  const json = Buffer.from(JSON.stringify(JSON.parse(readDescription(folder))));
  const page = Buffer.from(PAGE);
  let script: { readonly bytes: Buffer; readonly version: string } | undefined;
  const oneEachTurn = createOneEachTurn();
  app.get('/openapi.json', oneEachTurn, (_request, response) => {
    response.type('json').send(json);
  });
  app.get('/docs', pageSecurity, (request, response) => {
    // Below `/docs/` the page's addresses would lead elsewhere.
    if (request.path.endsWith('/')) response.redirect('../docs');
    else response.type('html').send(page);
  });
  app.get('/docs/redoc.js', oneEachTurn, (_request, response) => {
    // Read on demand: the API works without the page.
    script ??= readScript();
    response.set({ 'cache-control': 'public, max-age=3600', etag: etagOf(script.version) });
    response.type('js').send(script.bytes);
  });
}

function readDescription(folder: string): string {
  try {
    return readFileSync(join(folder, 'openapi.json'), 'utf8');
  } catch (error) {
    const advice = 'Install docs/openapi.json beside the apps, or set DOCS_ENABLED=false.';
    throw new Error(`The description of the API can't be read. ${advice}`, { cause: error });
  }
}

function readScript() {
  const script = readFileSync(require.resolve(REDOC), 'utf8');
  // An image that can't be shown hides itself; the one from elsewhere would be refused, which browsers report.
  const bytes = Buffer.from(script.replace(LOGO, 'data:,'));
  return { bytes, version: createHash('sha256').update(bytes).digest('base64url').slice(0, VERSION_LENGTH) };
}

const VERSION_LENGTH = 22;
const LOGO = 'https://cdn.redoc.ly/redoc/logo-mini.svg';

/**
 * Let one request through in each turn of the event loop. Handing a megabyte to the system takes part of a
 * millisecond: other requests wait for one of these responses, not for all that were requested together.
 */
function createOneEachTurn(): RequestHandler {
  const waiting: (() => void)[] = [];
  const letOneThrough = () => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(letOneThrough);
  };
  return (_request, _response, next) => {
    waiting.push(next);
    if (waiting.length === 1) setImmediate(letOneThrough);
  };
}
