import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const TOOL = resolve(__dirname, '../../tools/house.mjs');
const CORE = 'packages/core/src';

/** A product in small, with nothing wrong. */
const PRODUCT: Readonly<Record<string, string>> = {
  [`${CORE}/low/a.ts`]: 'export const a = () => 1;\n',
  [`${CORE}/high/b.ts`]:
    "import { a } from '../low/a';\n/* Says a. */\nexport class B { b() { return a(); } }\n",
  [`${CORE}/high/c.ts`]: "export * from './b';\n",
  [`${CORE}/high/c.test.ts`]: "import { help } from '../testing/help';\n",
  [`${CORE}/testing/help.ts`]: 'export const help = 1;\n',
  'tools/house.mjs': '// It.\n',
  'apps/api/src/main.ts':
    "import type { B } from '@hookferry/core/high/c';\n\nexport const main = (parts: { b: B }) => parts.b.b();\n",
  'apps/worker/src/main.ts': "import('@hookferry/core/high/b');\n",
  'apps/admin/src/main.ts': 'export {};\n',
  'apps/portal/src/main.tsx': 'export {};\n',
  'docs/architecture.md': `
<!-- folders of ${CORE}: written by \`npm run generate\` -->

| Folder | What    | Imports from |
| ------ | ------- | ------------ |
| \`low\`  | the one | –            |
| \`high\` | another | low          |

<!-- /folders of ${CORE} -->
`,
  'docs/inside/publish.md': `
<!-- walk: api -->

1. \`apps/api/src/main.ts\` (\`main\`): begins
2. [\`${CORE}/high/b.ts\`](../../${CORE}/high/b.ts)
3. \`${CORE}/low/a.ts\`

<!-- /walk -->
`,
};

let project: string;

beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'webhooks-house-'));
  for (const [path, text] of Object.entries(PRODUCT)) write(path, text);
});

afterEach(() => rmSync(project, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(project, path)), { recursive: true });
  writeFileSync(join(project, path), text);
}

function change(path: string, from: string, to: string): void {
  write(path, readFileSync(join(project, path), 'utf8').replace(from, to));
}

function house(...args: string[]): { code: number | null; faults: string[]; said: string } {
  const ended = spawnSync(process.execPath, [TOOL, '--project', project, ...args], { encoding: 'utf8' });
  const faults = ended.stderr.split('\n').filter((line) => line !== '');
  return { code: ended.status, faults, said: ended.stdout };
}

describe('npm run house', () => {
  it('measures the product, without its tests and their helpers', () => {
    const { said } = house();
    expect(said).toContain('6 (packages/core/src 3, apps/api/src 1, apps/worker/src 1, apps/admin/src 1)');
    expect(said).toMatch(/lines +10, of code 8\n/);
    expect(said).toMatch(/lines of a file +median 1, p90 3, maximum 3/);
    expect(said).toMatch(/arrows +1 of 1 that 2 folders/);
    expect(said).toMatch(/circles +0\n/);
    expect(said).toMatch(/walk: api +3 files, 0 aside/);
    expect(said).toMatch(/tools +1 lines in 1 files/);
  });

  it('counts what a reader has to keep in mind: types of contexts, and what opens stores', () => {
    write(
      `${CORE}/core/open-stores.ts`,
      '// Opens.\nexport interface AContext extends Pick<B, "b"> {}\ntype BContext = Pick<C, "c">;\n',
    );
    write(`${CORE}/core/open-stores.test.ts`, 'type CContext = Pick<C, "c">;\n');
    write('apps/worker/src/context.ts', 'export {};\n');
    const { said } = house();
    expect(said).toMatch(/open stores +4 lines in 2 files/);
    expect(said).toMatch(/Context types +2\n/);
    expect(said).toMatch(/Pick< +2\n/);
  });

  it('finds nothing wrong with a product that keeps to the rules', () => {
    expect(house('--check')).toMatchObject({ code: 0, faults: [] });
  });

  it.each([
    [
      `${CORE}/low/a.ts`,
      "import type { d } from '../high/d';",
      'low/a.ts: imports packages/core/src/high/d.ts, against the order of folders',
    ],
    [
      `${CORE}/low/a.ts`,
      "export type { d } from '../high/d';",
      'low/a.ts: imports packages/core/src/high/d.ts, against the order of folders',
    ],
    [`${CORE}/other/a.ts`, '', 'other/a.ts: "other" is missing in docs/architecture.md'],
    [`${CORE}/lone.ts`, '', 'src/lone.ts: "src" is missing in docs/architecture.md'],
    [`${CORE}/high/b.ts`, "import '../testing/help';", 'high/b.ts: product code imports ../testing/help'],
    [
      'apps/api/src/a.ts',
      "import '@hookferry/core/testing/help';",
      'api/src/a.ts: product code imports @hookferry/core/testing/help',
    ],
    [
      'apps/admin/src/a.ts',
      "import '@hookferry/receiver/dist/verify';",
      'imports @hookferry/receiver/dist/verify, an inner file of another package',
    ],
    [
      'apps/admin/src/a.ts',
      "import '../../../packages/core/src/low/a';",
      'imports ../../../packages/core/src/low/a, an inner file of another package',
    ],
  ])('finds what is wrong in %s with %s', (path, line, fault) => {
    write(`${CORE}/high/d.ts`, '');
    write(path, `${line}\n`);
    const { code, faults } = house('--check');
    expect(code).toBe(1);
    expect(faults).toContainEqual(expect.stringContaining(fault));
  });

  it.each(['low', 'high'])('finds that %s imports a capability, which only apps may', (folder) => {
    const row = '| `high` | another | low          |\n';
    const plugged = ['mail', 'chat'].map((name) => `| \`${name}\` | capability: ${name} | – |\n`);
    change('docs/architecture.md', row, `${row}${plugged.join('')}`);
    write(`${CORE}/mail/send.ts`, '');
    write(`${CORE}/chat/post.ts`, "import '../mail/send';\n");
    write(`${CORE}/${folder}/d.ts`, "import '../chat/post';\n");
    write('apps/worker/src/capabilities.ts', "import '@hookferry/core/mail/send';\n");
    expect(house('--check').faults.filter((fault) => fault.includes('capability'))).toEqual([
      `${CORE}/chat/post.ts: imports ${CORE}/mail/send.ts, a capability`,
      `${CORE}/${folder}/d.ts: imports ${CORE}/chat/post.ts, a capability`,
    ]);
  });

  it('finds circles, of types too', () => {
    write(`${CORE}/high/b.ts`, "import type { B } from './c';\n");
    expect(house().said).toMatch(
      /circles +1\n +packages\/core\/src\/high\/b.ts, packages\/core\/src\/high\/c.ts\n/,
    );
    const { code, faults } = house('--check');
    expect(code).toBe(1);
    expect(faults).toContain('circular imports: packages/core/src/high/b.ts, packages/core/src/high/c.ts');
  });

  it('finds a step of a walk that is not there, one that nothing leads to, and one that begins nowhere', () => {
    change('docs/inside/publish.md', '(`main`)', '(`start`)');
    change(
      'docs/inside/publish.md',
      `3. \`${CORE}/low/a.ts\``,
      `3. \`${CORE}/low/gone.ts\`\n4. \`apps/worker/src/main.ts\``,
    );
    expect(house('--check', '--walks').faults).toEqual([
      `walk api: ${CORE}/low/gone.ts does not exist`,
      'walk api: start of apps/api/src/main.ts does not exist',
      'walk api: nothing above calls apps/api/src/main.ts, and it does not say (`where`) it begins',
      `walk api: nothing above calls ${CORE}/high/b.ts, and it does not say (\`where\`) it begins`,
      'walk api: nothing above calls apps/worker/src/main.ts, and it does not say (`where`) it begins',
    ]);
    expect(house('--check').faults).toEqual([]);
  });

  it('finds what is called on the way and is not listed, unless it is aside', () => {
    change('docs/inside/publish.md', `3. \`${CORE}/low/a.ts\`\n`, '');
    expect(house('--check', '--walks').faults).toEqual([
      `walk api: ${CORE}/low/a.ts is missing, which ${CORE}/high/b.ts (b: a) calls`,
    ]);
    change(
      'docs/inside/publish.md',
      '<!-- /walk -->',
      `Aside:\n\n- \`${CORE}/low/\`: counts\n\n<!-- /walk -->`,
    );
    expect(house('--check', '--walks').faults).toEqual([]);
  });

  it.each([
    ['an interface', 'interface Kind { b(): void }', 'implements Kind'],
    ['a class', 'class Kind { b() {} }', 'extends Kind'],
  ])('follows a method of %s to the classes that have it in its place', (_kind, kind, how) => {
    write(`${CORE}/low/kind.ts`, `export ${kind}\n`);
    write(
      `${CORE}/high/b.ts`,
      `import { a } from '../low/a';\nimport { Kind } from '../low/kind';\nexport class B ${how} { b() { a(); } }\n`,
    );
    write(
      'apps/api/src/main.ts',
      "import type { Kind } from '@hookferry/core/low/kind';\nimport '@hookferry/core/high/b';\nexport const main = (kind: Kind) => kind.b();\n",
    );
    change('docs/inside/publish.md', `3. \`${CORE}/low/a.ts\`\n`, `- \`${CORE}/low/kind.ts\`: the type\n`);
    expect(house('--check', '--walks').faults).toEqual([
      `walk api: ${CORE}/low/a.ts is missing, which ${CORE}/high/b.ts (b: a) calls`,
    ]);
  });

  it('finds a script that nobody calls', () => {
    const written = (name: string) =>
      `export function ${name}(): Step<void> {}\nexport function read${name}() {}\n`;
    write(`${CORE}/low/store.script.ts`, written('lone') + written('called'));
    write(`${CORE}/low/store.ts`, "import { called } from './store.script';\ncalled();\n");
    expect(house('--check').faults).toEqual([`${CORE}/low/store.script.ts: nobody calls lone`]);
  });

  it('counts what readers of scripts can not see through', () => {
    write(`${CORE}/low/store.lua`, 'function get(list)\n  return list\nend\n');
    write(`${CORE}/low/store.script.ts`, "const body = `redis.call('GET', KEYS[1])`;\n");
    write(
      `${CORE}/low/store.ts`,
      `// A local variable and \`KEYS[1]\` of a comment.
const SAY = 'It is local: then this is the end.';
const GET = defineScript(\`
  local key, \${name} = unpack(KEYS)

  return redis.call('GET', KEYS[#KEYS])\`);
`,
    );
    write(`${CORE}/low/store.test.ts`, "const DEL = `redis.call('DEL', KEYS[1], ARGV[1])`;\n");
    const { said } = house();
    expect(said).toMatch(/Lua in files +1 files, 3 lines\n/);
    expect(said).toMatch(/Lua in strings +1 strings, 2 lines, 3 positional/);
    expect(said).toMatch(/ of tests +1 strings, 1 lines, 2 positional/);
    expect(said).toMatch(/files +7 \(packages\/core\/src 4,/);
  });

  it('finds Lua in strings, but not in those of tests', () => {
    const lua = "const A = `redis.call('SET', KEYS[1], ARGV[1])`;\n";
    write(`${CORE}/low/d.ts`, lua);
    write(`${CORE}/low/d.test.ts`, lua);
    expect(house('--check').faults).toEqual([
      '1 strings, 1 lines, 2 positional keys and arguments in TypeScript: scripts stand in .lua files',
    ]);
  });

  it('finds that the page shows other imports, and brings it up to date', () => {
    const page = join(project, 'docs/architecture.md');
    change('docs/architecture.md', '| low   ', '| –     ');
    expect(house('--check').faults).toEqual([
      'docs/architecture.md is outdated. Update it: npm run generate',
    ]);
    expect(house('--write').code).toBe(0);
    expect(readFileSync(page, 'utf8')).toBe(PRODUCT['docs/architecture.md']);
  });

  it('fails when it finds no sources, or no order to hold them to', () => {
    rmSync(join(project, 'apps/admin'), { recursive: true });
    expect(house('--check').code).toBe(1);
    write('apps/admin/src/main.ts', '');
    change('docs/architecture.md', '<!-- folders of', '<!-- drawers of');
    expect(house('--check').faults).toEqual(['docs/architecture.md has no folders of packages/core/src']);
  });
});
