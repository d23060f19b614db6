import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '@hookferry/core/platform/app-error';
import { escapeHtml } from '@hookferry/core/platform/escape-html';
import type { Express } from 'express';
import { contentSecurityPolicy } from 'helmet';
import { requestStateOf } from './request-state';
import { etagOf } from './send-reply';

/** The documentation, whose page for customers it is. */
export const DOCS_FOLDER = join(__dirname, '../../../../docs');

export interface ReceivePageOptions {
  readonly folder: string;
  /** Whose webhooks they are, for people. */
  readonly operator: string | undefined;
  /** Ranges in CIDR notation. */
  readonly addresses: readonly string[];
  readonly timeoutMs: number;
  /** Waits between attempts. */
  readonly retryDelaysMs: readonly number[];
}

const PATH = '/receive';

/** Of the pages that are made here. */
export const STYLE = `
:root { color-scheme: light dark; --accent: light-dark(#0757c2, #79b8ff); --border: light-dark(#dfe3e8, #30363d); --sunken: light-dark(#f6f8fa, #22272e) }
body { max-width: 46rem; margin: 0 auto; padding: 2rem 1rem 4rem; background: light-dark(#fff, #16191d); color: light-dark(#16191d, #e8ebef); font: 16px/1.55 system-ui, sans-serif }
svg { width: 40px; height: 40px } a { color: var(--accent) } h1, h2, h3 { line-height: 1.25 } h2 { margin-top: 2rem }
code, pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .9em }
code, pre, th { background: var(--sunken) } code { padding: .1em .3em; border-radius: 4px }
pre { padding: .8rem; overflow-x: auto; border: 1px solid var(--border); border-radius: 6px } pre code { padding: 0 }
table { border-collapse: collapse } th, td { padding: .4rem .6rem; border: 1px solid var(--border); text-align: left; vertical-align: top }
`;

/** A page may have this style, and nothing else: no script, no request, no frame. */
export const pageSecurity = contentSecurityPolicy({
  useDefaults: false,
  directives: {
    'default-src': ["'none'"],
    'style-src': [`'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`],
    'frame-ancestors': ["'none'"],
  },
});

/**
 * Serve the documentation's page for those who receive webhooks, filled in by the settings. It says nothing of any
 * account, and needs no key. It is in memory once.
 */
export function mountReceivePage(app: Express, options: ReceivePageOptions): void {
  let page: { readonly bytes: Buffer; readonly version: string } | undefined;
  app.get(PATH, pageSecurity, (request, response) => {
    requestStateOf(response).route = PATH;
    if (request.path !== PATH) return response.redirect('../receive');
    page ??= readPage(options);
    if (!page) throw new AppError('route_not_found', 'The documentation is not part of this installation.');
    response.set({ 'cache-control': 'public, max-age=3600', etag: etagOf(page.version) });
    response.type('html').send(page.bytes);
  });
}

function readPage(options: ReceivePageOptions) {
  const read = (name: string) => readFileSync(join(options.folder, name), 'utf8');
  if (!existsSync(join(options.folder, 'receive.md'))) return undefined;
  const [, snippets = ''] = /^(## Snippets\n[^]*?)^## /m.exec(read('verifying-signatures.md')) ?? [];
  const text = `${fillIn(read('receive.md'), options)}\n${snippets}`;
  const title = titleOf(options);
  const bytes = Buffer.from(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${escapeHtml(title)}</title><meta name="viewport" content="width=device-width"><style>${STYLE}</style></head>
<body>
${read('images/mark.svg')}
${renderMarkdown(text)}
</body>
</html>
`);
  return { bytes, version: createHash('sha256').update(bytes).digest('base64url').slice(0, 22) };
}

function titleOf({ operator }: ReceivePageOptions): string {
  return operator === undefined ? 'Receive our webhooks' : `Receive webhooks from ${operator}`;
}

/** What the settings say, in the places that the page has for it: `<!-- name -->…<!-- / -->`. */
function fillIn(text: string, options: ReceivePageOptions): string {
  const { addresses, retryDelaysMs, timeoutMs } = options;
  const total = retryDelaysMs.reduce((sum, delay) => sum + delay, 0);
  const filled: Readonly<Record<string, string | undefined>> = {
    'for the operator': '',
    timeout: inWords(timeoutMs),
    retries: `after ${retryDelaysMs.map(inWords).join(', ')}: ${retryDelaysMs.length + 1} attempts over ${inWords(total)}`,
    addresses: addresses.length === 0 ? undefined : addresses.map((address) => `\`${address}\``).join(', '),
  };
  return text
    .replace(/^# .*$/m, () => `# ${titleOf(options)}`)
    .replace(
      /<!-- ([\w ]+) -->([^]*?)<!-- \/ -->/g,
      (_, name: string, usual: string) => filled[name] ?? usual,
    );
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** Such as `15 seconds`. Times of more than two of a unit are rounded to halves of it. */
function inWords(milliseconds: number): string {
  const [name, size] = UNITS.find(([, each]) => milliseconds >= 2 * each) ?? ['second', 1_000];
  const count = size === 1_000 ? milliseconds / size : Math.round((2 * milliseconds) / size) / 2;
  return `${count} ${name}${count === 1 ? '' : 's'}`;
}

/** The HTML of Markdown as our own pages write it: headings, paragraphs, lists, tables and code. */
export function renderMarkdown(text: string): string {
  const blocks = text.match(/^```[^]*?^```$|(?:(?!```).+\n?)+/gm) ?? [];
  return blocks.map((block) => renderBlock(block.trimEnd())).join('\n');
}

function renderBlock(block: string): string {
  const lines = block.split('\n');
  const [first = ''] = lines;
  if (first.startsWith('```')) return `<pre><code>${escapeHtml(lines.slice(1, -1).join('\n'))}</code></pre>`;
  const [, marks, heading = ''] = /^(#{1,6}) (.*)$/.exec(first) ?? [];
  if (marks !== undefined) {
    const id = heading
      .toLowerCase()
      .replace(/[^a-z0-9 _-]/g, '')
      .replaceAll(' ', '-');
    return `<h${marks.length} id="${id}">${renderInline(heading)}</h${marks.length}>`;
  }
  if (first.startsWith('|')) return renderTable(lines);
  const [bullet] = /^(?:- |\d+\. )/.exec(first) ?? [];
  if (bullet !== undefined) return renderList(block, bullet === '- ' ? 'ul' : 'ol');
  return `<p>${renderInline(block)}</p>`;
}

function renderTable(lines: readonly string[]): string {
  const row = (line: string, tag: string) => {
    const cells = line.slice(1, -1).split('|');
    return `<tr>${cells.map((cell) => `<${tag}>${renderInline(cell.trim())}</${tag}>`).join('')}</tr>`;
  };
  const [head = '', , ...others] = lines.map((line) => line.trim());
  return `<table>${[row(head, 'th'), ...others.map((line) => row(line, 'td'))].join('\n')}</table>`;
}

function renderList(block: string, tag: string): string {
  const entries = block.split(/^(?:- |\d+\. )/m).slice(1);
  return `<${tag}>${entries.map((entry) => `<li>${renderInline(entry.trim())}</li>`).join('\n')}</${tag}>`;
}

/** A link to another of our pages becomes its text: that page is not served. */
function renderInline(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) =>
      part.startsWith('`')
        ? `<code>${escapeHtml(part.slice(1, -1))}</code>`
        : escapeHtml(part)
            .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
            .replace(/\[([^\]]+)\]\((https:[^)]*)\)/g, '<a href="$2">$1</a>')
            .replace(/\[([^\]]+)\]\(verifying-signatures\.md[^)]*\)/g, '<a href="#snippets">$1</a>')
            .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1'),
    )
    .join('');
}
