import { createHash } from 'node:crypto';
import express, { type Express } from 'express';
import request from 'supertest';
import { beginTestRequest } from '../testing/begin-test-request';
import { answerProblems, createRefuseUnknownRoute } from './problem';
import { DOCS_FOLDER, mountReceivePage, type ReceivePageOptions, renderMarkdown } from './receive-page';
import { setHeads } from './send-reply';

const SCHEDULE = ['5s', '5m', '30m', '2h', '5h', '10h', '14h', '20h', '24h'];
const usual: ReceivePageOptions = {
  folder: DOCS_FOLDER,
  operator: undefined,
  addresses: [],
  timeoutMs: 15_000,
  retryDelaysMs: SCHEDULE.map((text) => millisecondsOf(text)),
};

function millisecondsOf(text: string): number {
  return Number.parseInt(text, 10) * { s: 1_000, m: 60_000, h: 3_600_000 }[text.slice(-1) as 's' | 'm' | 'h'];
}

function createApp(options: Partial<ReceivePageOptions> = {}): Express {
  const app = express();
  app.disable('etag');
  app.use(beginTestRequest);
  app.use(setHeads);
  mountReceivePage(app, { ...usual, ...options });
  app.use(createRefuseUnknownRoute([]));
  app.use(answerProblems(() => {}));
  return app;
}

const readPage = async (options: Partial<ReceivePageOptions> = {}) =>
  (await request(createApp(options)).get('/receive')).text;

describe('the page for those who receive webhooks', () => {
  it('has the name of the operator, its addresses, its time limit and its retries', async () => {
    const page = await readPage({
      operator: 'Acme & Söhne <b>',
      addresses: ['203.0.113.0/28', '2001:db8::/64'],
      timeoutMs: 20_000,
      retryDelaysMs: [1_000, 90_000, 172_800_000],
    });
    expect(page).toContain(
      '<h1 id="receive-webhooks-from-acme--shne-b">Receive webhooks from Acme &amp; Söhne &lt;b&gt;</h1>',
    );
    expect(page).toContain('<code>203.0.113.0/28</code>, <code>2001:db8::/64</code>');
    expect(page).toContain('<strong>20 seconds</strong>');
    expect(page).toContain('after 1 second, 90 seconds, 2 days: 4 attempts over 2 days');
    expect(page).not.toMatch(/SOURCE_ADDRESSES|OPERATOR_NAME|<!--/);
  });

  it('says by default what the documentation says', async () => {
    const page = await readPage();
    expect(page).toContain('<title>Receive our webhooks</title>');
    expect(page).toContain(
      'after 5 seconds, 5 minutes, 30 minutes, 2 hours, 5 hours, 10 hours, 14 hours, 20 hours, 24 hours: 10 attempts over 3 days',
    );
  });

  it('has code for every language, and no link that leads nowhere', async () => {
    const page = await readPage();
    for (const language of ['Node.js', 'Python', 'Go', 'Ruby', 'PHP', 'Java']) {
      expect(page).toContain(`>${language}</h3>\n`);
    }
    const links = [...page.matchAll(/href="([^"]*)"/g)].map(([, link = '']) => link);
    expect(links).not.toEqual([]);
    expect(
      links.filter((link) => !link.startsWith('https://') && !page.includes(`id="${link.slice(1)}"`)),
    ).toEqual([]);
  });

  it('runs nothing, loads nothing, and is cached', async () => {
    const { headers, text } = await request(createApp()).get('/receive');
    const [, style = ''] = /<style>([^]*)<\/style>/.exec(text) ?? [];
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers['content-security-policy']).toBe(
      `default-src 'none';style-src 'sha256-${hash}';frame-ancestors 'none'`,
    );
    expect(headers['cache-control']).toBe('public, max-age=3600');
    expect(text).not.toMatch(/<script|style="|<img/);
    const again = await request(createApp()).get('/receive').set('if-none-match', String(headers.etag));
    expect(again.status).toBe(304);
  });

  it('is not found where the documentation is not', async () => {
    const { status } = await request(createApp({ folder: '/nowhere' })).get('/receive');
    expect(status).toBe(404);
  });
});

it('renders Markdown as our pages write it', () => {
  const text =
    '# A `b`\n\nOne **two**\nthree <x>.\n\n1. first\n2. second\n   goes on\n\n```sh\na < b\n\nc\n```\n\n| A | B |\n| - | - |\n| [x](y.md) | `z` |';
  expect(renderMarkdown(text)).toBe(
    [
      '<h1 id="a-b">A <code>b</code></h1>',
      '<p>One <strong>two</strong>\nthree &lt;x&gt;.</p>',
      '<ol><li>first</li>\n<li>second\n   goes on</li></ol>',
      '<pre><code>a &lt; b\n\nc</code></pre>',
      '<table><tr><th>A</th><th>B</th></tr>\n<tr><td>x</td><td><code>z</code></td></tr></table>',
    ].join('\n'),
  );
});
