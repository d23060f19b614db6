// @ts-check
/** Copies the Markdown of the repository into `pages/`, with links that lead to pages, and writes the reference of the API. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describeReference } from './reference.mjs';

const ROOT = join(import.meta.dirname, '..');
const PAGES = join(import.meta.dirname, 'pages');
const CODE = /^ *```[^]*?^ *```$|`[^`\n]*`/gm;
// Stands for code while links are looked for; no page has it.
const MARK = '⟦code⟧';
const LINK = /(!?)\[((?:[^\]\\]|\\.)*)\]\((?!https?:)([^)#]*)(#[^)]*)?\)/g;

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

rmSync(PAGES, { recursive: true, force: true });
cpSync(join(ROOT, 'docs/images'), join(PAGES, 'public/images'), { recursive: true });
for (const [source, page] of pageOf) write(page, withLinks(source, readFileSync(join(ROOT, source), 'utf8')));
for (const [page, to] of Object.entries(MOVED))
  write(page, `# Moved\n\nThis page is now part of [another one](/${to}).\n`);
write('reference.md', describeReference(JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8'))));
console.log(`${pageOf.size + Object.keys(MOVED).length + 1} pages`);

/** @param {string} page @param {string} text */
function write(page, text) {
  mkdirSync(dirname(join(PAGES, page)), { recursive: true });
  writeFileSync(join(PAGES, page), text);
}

/** Links to pages lead there; what is no page, such as a source file, becomes its text. @param {string} source @param {string} text */
function withLinks(source, text) {
  const codes = text.match(CODE) ?? [];
  const linked = text
    .replace(CODE, MARK)
    // Badges are about the repository.
    .replace(/^<p>\n(?: +<a [^\n]*<img [^\n]*\n)+<\/p>$/gm, '')
    .replace(/(src|srcset)="(?:docs\/)?images\//g, '$1="/images/')
    .replace(LINK, (_, image, label, path, anchor = '') => {
      const target = path === '' ? source : normalize(join(dirname(source), path));
      if (image) return `![${label}](/${target.replace(/^docs\//, '')})`;
      const page = pageOf.get(target);
      if (page === undefined && !existsSync(join(ROOT, target)))
        throw new Error(`${source}: there is no ${target}`);
      return page === undefined ? label : `[${label}](/${page}${anchor})`;
    });
  let index = 0;
  return linked.replaceAll(MARK, () => codes[index++] ?? '');
}
