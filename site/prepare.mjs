// @ts-check
/**
 * Copies the Markdown of the repository into `pages/`, with links that lead to pages, and writes the reference of the API. Refuses a page
 * without a place in the navigation, or with two.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { navigation } from './navigation.mjs';
import { describeReference } from './reference.mjs';

const ROOT = join(import.meta.dirname, '..');
const PAGES = join(import.meta.dirname, 'pages');
const CODE = /^ *```[^]*?^ *```$|`[^`\n]*`/gm;
// Stands for code while links are looked for; no page has it.
const MARK = /⟦code (\d+)⟧/g;
const LINK = /(!?)\[((?:[^\]\\]|\\.)*)\]\((?!https?:)([^)#]*)(#[^)]*)?\)/g;

const WIDE_TABLE = /^\|(?: *:?-+:? *\|){7,}$/m;

/** Pages that there were, so that old links lead on. */
const MOVED = { 'faults.md': 'reliability.md', 'webhooks.md': 'api.md#webhooks' };

const pageOf = new Map(
  Object.entries({
    'README.md': 'hookferry.md',
    'CONTRIBUTING.md': 'contributing.md',
    'SECURITY.md': 'reporting.md',
    'CODE_OF_CONDUCT.md': 'code-of-conduct.md',
    'CHANGELOG.md': 'changelog.md',
    'packages/receiver/README.md': 'packages/receiver.md',
    'packages/client/README.md': 'packages/client.md',
    'packages/portal/README.md': 'packages/portal.md',
    'packages/producer/README.md': 'packages/producer.md',
    'packages/outbox/README.md': 'packages/outbox.md',
    'packages/cli/README.md': 'packages/cli.md',
    'packages/server/README.md': 'packages/server.md',
    'clients/README.md': 'packages/languages.md',
    'clients/python/README.md': 'packages/python.md',
    'clients/go/README.md': 'packages/go.md',
    'clients/java/README.md': 'packages/java.md',
    'clients/csharp/README.md': 'packages/csharp.md',
    'clients/php/README.md': 'packages/php.md',
    'clients/ruby/README.md': 'packages/ruby.md',
    'conformance/README.md': 'conformance.md',
  }),
);
for (const name of readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })) {
  if (name.endsWith('.md')) pageOf.set(`docs/${name}`, name.replace(/README\.md$/, 'index.md'));
}
pageOf.set('docs/README.md', 'documentation.md');
pageOf.set('site/home.md', 'index.md');

rmSync(PAGES, { recursive: true, force: true });
cpSync(join(ROOT, 'docs/images'), join(PAGES, 'public/images'), { recursive: true });
for (const [source, page] of pageOf) {
  const text = withLinks(source, readFileSync(join(ROOT, source), 'utf8'));
  // A table of many columns takes the place of the list of headings, too.
  write(page, WIDE_TABLE.test(text) ? `---\naside: false\n---\n\n${text}` : text);
}
for (const [page, to] of Object.entries(MOVED))
  write(page, `# Moved\n\nThis page is now part of [another one](/${to}).\n`);
const reference = describeReference(JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')));
for (const [page, text] of reference) write(page, text);
checkPlaces();
console.log(`${pageOf.size + Object.keys(MOVED).length + reference.size} pages`);

/** @param {string} page @param {string} text */
function write(page, text) {
  mkdirSync(dirname(join(PAGES, page)), { recursive: true });
  writeFileSync(join(PAGES, page), text);
}

/** Links to pages lead there; what is no page, such as a source file, becomes its text. @param {string} source @param {string} text */
function withLinks(source, text) {
  /** @type {string[]} */
  const codes = [];
  const linked = text
    .replace(CODE, (code) => `⟦code ${codes.push(code) - 1}⟧`)
    // Marks of programs that fill pages in. One at the beginning of a line would make HTML of the line.
    .replace(/^<!--[^]*?-->\n|<!--[^]*?-->/gm, '')
    // Badges are about the repository.
    .replace(/^<p>\n(?: +<a [^\n]*<img [^\n]*\n)+<\/p>$/gm, '')
    .replace(/(src|srcset)="(?:docs\/)?images\//g, '$1="/images/')
    .replace(LINK, (_, image, label, path, anchor = '') => {
      const target = path === '' ? source : normalize(join(dirname(source), path));
      if (image) return `![${label}](/${target.replace(/^docs\//, '')})`;
      const page = target === 'docs/openapi.json' ? 'reference.md' : pageOf.get(target);
      if (page === undefined && !existsSync(join(ROOT, target)))
        throw new Error(`${source}: there is no ${target}`);
      return page === undefined ? label : `[${label}](/${page}${anchor})`;
    });
  return linked.replace(MARK, (_, index) => codes[Number(index)] ?? '');
}

/** Each page is in the navigation once; the list of the decisions is the place of each of them. */
function checkPlaces() {
  /** @param {any} item @returns {string[]} */
  const linksOf = (item) => [
    ...(item.link === undefined ? [] : [item.link]),
    ...(item.items ?? []).flatMap(linksOf),
  ];
  const resources = [...reference.keys()].filter((page) => page.includes('/'));
  const links = navigation(
    resources.map((page) => ({ text: page, link: `/${page.replace(/\.md$/, '')}` })),
  ).flatMap(linksOf);
  const pages = [...pageOf.values(), ...reference.keys()]
    .filter((page) => page !== 'index.md' && !/^decisions\/\d/.test(page))
    .map((page) => `/${page.replace(/(index)?\.md$/, '')}`);
  const wrong = pages.filter((page) => links.filter((link) => link === page).length !== 1);
  if (wrong.length > 0) throw new Error(`site/navigation.mjs has no place, or two, for: ${wrong.join(', ')}`);
}
