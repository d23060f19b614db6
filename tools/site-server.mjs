// @ts-check
/** The built documentation (`npm run site`) on a port of this machine, as any static host serves it. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { Problem } from './problem.mjs';
import { projectFolder } from './project-folders.mjs';

const DIST = join(projectFolder, 'site/dist');
const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** The path of each page, without `.html`. */
export function pagesOfSite() {
  return readdirSync(DIST, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.html') && name !== '404.html')
    .map((name) => `/${name.replace(/(index)?\.html$/, '')}`)
    .sort();
}

/** @returns {Promise<{ url: string, close(): void }>} `url`: without a slash at its end. @throws Problem if the site is not built */
export async function serveSite() {
  if (!existsSync(join(DIST, 'index.html')))
    throw new Problem('The site is not built. Build it first: npm run site');
  const server = createServer(serve);
  await new Promise((listening) => server.listen(0, '127.0.0.1', () => listening(undefined)));
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
}

/** @type {import('node:http').RequestListener} */
function serve(request, response) {
  const path = normalize(decodeURIComponent(new URL(request.url ?? '/', 'http://site').pathname));
  const file = [path, `${path}.html`, join(path, 'index.html')]
    .map((each) => join(DIST, each))
    .find((each) => existsSync(each) && statSync(each).isFile());
  if (file === undefined) return void response.writeHead(404).end();
  const type = TYPES[/** @type {keyof typeof TYPES} */ (extname(file))] ?? 'application/octet-stream';
  response.writeHead(200, { 'content-type': type }).end(readFileSync(file));
}
