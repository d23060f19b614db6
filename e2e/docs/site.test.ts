import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPythons } from '../packages/python-runtime';
import { blocksOf, readPage } from './read-page';

const ROOT = join(__dirname, '../..');
const SITE = join(ROOT, 'site');
const PAGES = join(SITE, 'pages');
const [python] = findPythons();

/** Runs the examples with a client that sends nothing, and prints what each would have sent. */
const RUN_EXAMPLES = `
import json, sys
from hookferry import Client, api_requests

class Sent(Exception):
    pass

def send(self, method, path, json=None, query=None, idempotency_key=None, headers=None):
    raise Sent(method, path, json)

api_requests.ApiRequests.send = send
api_requests.ApiRequests.read_lines = lambda self, path, query: send(self, "GET", path)
for code in json.load(sys.stdin):
    try:
        exec(code, {"client": Client("http://localhost", "whk_1")})
        print(json.dumps(None))
    except Sent as sent:
        print(json.dumps(sent.args))
`;

interface Route {
  readonly method: string;
  readonly path: string;
  readonly body: object | undefined;
  readonly js: string;
  readonly python: string;
}

describe('the site', () => {
  const read = (name: string) => readFileSync(join(PAGES, name), 'utf8');
  const names = () =>
    readdirSync(PAGES, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));

  // It refuses a page that has no place in the navigation, or two.
  beforeAll(() => {
    execFileSync(process.execPath, [join(SITE, 'prepare.mjs')]);
  });

  it('shows every route on the page of its resource, in its overview, and every error', async () => {
    const { codes } = await readApi();
    for (const { method, path } of await readRoutes())
      expect(read('reference.md')).toContain(`\`${method} ${path}\``);
    expect(codes.filter((code) => !read('reference.md').includes(`- \`${code}\``))).toEqual([]);
  });

  it('has examples in JavaScript that the client takes', async () => {
    const routes = await readRoutes();
    const file = join(ROOT, 'packages/client/src', `examples-of-the-site-${process.pid}.ts`);
    const body = routes.map(({ js }) => `{\n${js}\n}`).join('\n');
    writeFileSync(
      file,
      `import type { Client } from './client';\ndeclare const client: Client;\ndeclare const process: { env: Record<string, string> };\nexport async function all() {\n${body}\n}\n`,
    );
    try {
      const tsc = join(ROOT, 'node_modules/.bin/tsc');
      const { stdout } = spawnSync(
        tsc,
        ['--noEmit', '--noUnusedLocals', 'false', '-p', join(ROOT, 'packages/client')],
        {
          encoding: 'utf8',
        },
      );
      expect(stdout).toBe('');
    } finally {
      rmSync(file);
    }
  });

  // Without a Python there is nothing to run them with.
  const itWithPython = python ? it : it.skip;
  itWithPython('has examples in Python that make the request of their route', async () => {
    expectRequests((await readRoutes()).filter(({ python: code }) => !code.startsWith('#')));
  });

  it('has no link that leaves it', () => {
    expect(names().filter((name) => /\]\(\.\.?\//.test(read(name)))).toEqual([]);
  });

  async function readRoutes(): Promise<readonly Route[]> {
    const { paths, tags } = await readApi();
    const routes = tags.flatMap((tag) => {
      const page = read(`reference/${tag}.md`);
      const [js = [], pythons = [], curls = []] = [
        'js \\[JavaScript]',
        'python \\[Python]',
        'sh \\[curl]',
      ].map((language) => blocksOf(page, language));
      const own = paths.filter(({ tags: [name] }) => name === tag);
      expect([js.length, pythons.length, curls.length]).toEqual([own.length, own.length, own.length]);
      return own.map((route, index) => ({ ...route, js: js[index] ?? '', python: pythons[index] ?? '' }));
    });
    expect(routes).toHaveLength(paths.length);
    return routes;
  }
});

async function readApi() {
  const api = JSON.parse(await readPage('openapi.json')) as {
    readonly paths: Record<
      string,
      Record<string, { tags: string[]; requestBody?: { content: Record<string, { example?: object }> } }>
    >;
    readonly tags: readonly { readonly name: string }[];
    readonly components: { readonly schemas: { readonly ErrorCode: { readonly enum: string[] } } };
  };
  const paths = Object.entries(api.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { tags, requestBody }]) => ({
      path,
      method: method.toUpperCase(),
      tags,
      body: Object.values(requestBody?.content ?? {})[0]?.example,
    })),
  );
  return { paths, tags: api.tags.map(({ name }) => name), codes: api.components.schemas.ErrorCode.enum };
}

/** That each example sends the method, the path and the body of its route. */
function expectRequests(routes: readonly Route[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'webhooks-examples-'));
  const script = join(folder, 'run.py');
  writeFileSync(script, RUN_EXAMPLES);
  const printed = execFileSync(python?.command ?? '', [script], {
    input: JSON.stringify(routes.map(({ python: code }) => code)),
    env: { PYTHONPATH: join(ROOT, 'clients/python/src') },
    encoding: 'utf8',
  });
  rmSync(folder, { recursive: true });
  const sent = printed
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as [string, string, unknown] | null);
  expect(sent).toHaveLength(routes.length);
  routes.forEach(({ method, path, body }, index) => {
    const [sentMethod, sentPath, sentBody] = sent[index] ?? [];
    expect(sentMethod).toBe(method);
    expect(sentPath).toMatch(new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`));
    if (body !== undefined) expect(sentBody).toMatchObject(body);
  });
}
