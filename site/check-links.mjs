// @ts-check
/** Follows each link of the built site, also to the heading after `#`, which VitePress does not check. Exits with 1 if one leads nowhere. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const DIST = join(import.meta.dirname, 'dist');
const SITE = 'http://site/';

const files = new Set(readdirSync(DIST, { recursive: true, encoding: 'utf8' }));
const pages = new Map([...files].filter((file) => file.endsWith('.html')).map((file) => [file, read(file)]));

const links = [...pages].flatMap(([page, { targets }]) => targets.map((target) => ({ page, target })));
const broken = links.filter(({ page, target }) => !exists(new URL(target, SITE + page)));
for (const { page, target } of broken) console.error(`${page}: nothing at ${target}`);
console.log(`${links.length} links, ${broken.length} broken`);
if (broken.length > 0) process.exitCode = 1;

/** The ids of its elements, and where its links lead within the site. @param {string} page */
function read(page) {
  const html = readFileSync(join(DIST, page), 'utf8');
  const ids = new Set(Array.from(html.matchAll(/ id="([^"]+)"/g), ([, id]) => id));
  const targets = Array.from(html.matchAll(/ (?:href|src)="([^"]+)"/g), ([, target = '']) => target);
  return { ids, targets: targets.filter((target) => !/^(https?|mailto|data):/.test(target)) };
}

/** @param {URL} target */
function exists({ pathname, hash }) {
  const path = decodeURIComponent(pathname).slice(1);
  const file = [path, `${path}.html`, join(path, 'index.html')].find(
    (each) => files.has(each) && /\.\w+$/.test(each),
  );
  if (file === undefined) return false;
  const ids = pages.get(file)?.ids;
  return hash === '' || ids === undefined || ids.has(decodeURIComponent(hash.slice(1)));
}
