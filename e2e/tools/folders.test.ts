import { execFile } from 'node:child_process';
import { appendFile, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const PROJECT = resolve(__dirname, '../..');
const SOURCES = [
  'packages/core/src',
  'apps/api/src',
  'apps/portal/src',
  'apps/admin/src',
  'apps/worker/src',
  'docs/architecture.md',
];

let project: string;

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'webhooks-folders-'));
  for (const path of SOURCES) await cp(join(PROJECT, path), join(project, path), { recursive: true });
});

afterEach(async () => {
  await rm(project, { recursive: true, force: true });
});

async function check(...args: string[]): Promise<{ code: number; faults: string[]; said: string }> {
  const tool = join(PROJECT, 'tools/check-folders.mjs');
  const command = [tool, '--project', project, ...args];
  const ended = await promisify(execFile)(process.execPath, command).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { readonly code: number; readonly stdout: string; readonly stderr: string }) => error,
  );
  const faults = ended.stderr.split('\n').filter((line) => line !== '');
  return { code: ended.code, faults, said: ended.stdout };
}

const add = (path: string, line: string) => appendFile(join(project, path), `\n${line}\n`);

describe('npm run folders', () => {
  it('finds nothing wrong with the code as it is, and says its order', async () => {
    const { code, faults, said } = await check();
    expect({ code, faults }).toEqual({ code: 0, faults: [] });
    expect(said).toMatch(/^kernel ← model ← /);
  });

  it('finds each import that goes up, reaches into something or leaves its place, of types too, and another clock', async () => {
    const additions = [
      [
        'packages/core/src/kernel/clock.ts',
        "import { deliver } from '../attempt/deliver';",
        'kernel/clock.ts: goes up, to attempt/deliver',
      ],
      [
        'packages/core/src/model/event.ts',
        "import type { Subscriber } from '../endpoints/stored-endpoint';",
        'model/event.ts: goes up, to endpoints/stored-endpoint',
      ],
      [
        'packages/core/src/model/event.ts',
        "export type { Admit } from '../admission/admit';",
        'model/event.ts: goes up, to admission/admit',
      ],
      [
        'packages/core/src/queue/fair-order.ts',
        "import { buildEvent } from '../testing/build-event';",
        'queue/fair-order.ts: product code imports testing/build-event',
      ],
      [
        'apps/api/src/app.ts',
        "import { buildEvent } from '@hookferry/core/testing/build-event';",
        'app.ts: product code imports @hookferry/core/testing/build-event',
      ],
      [
        'apps/portal/src/components/badge.tsx',
        "import type { Session } from '../session/session';",
        'components/badge.tsx: goes up, to session/session',
      ],
      [
        'apps/worker/src/main.ts',
        'export const startedAt = Date.now();',
        'main.ts: asks Date.now, and not the clock',
      ],
      [
        'apps/admin/src/main.ts',
        "import '@hookferry/receiver/dist/verify';",
        'main.ts: reaches into @hookferry/receiver/dist/verify',
      ],
      [
        'apps/admin/src/main.ts',
        "import '../../../packages/core/src/kernel/clock';",
        'main.ts: leaves its package, to ../../../packages/core/src/kernel/clock',
      ],
    ] as const;
    for (const [path, line] of additions) await add(path, line);
    const { code, faults } = await check();
    expect(code).toBe(1);
    expect(faults).toEqual(expect.arrayContaining(additions.map(([, , fault]) => fault)));
  });

  it('finds a folder without a place in the order', async () => {
    await cp(join(project, 'packages/core/src/egress'), join(project, 'packages/core/src/drawer'), {
      recursive: true,
    });
    expect((await check()).faults[0]).toMatch(/^drawer\/.*: "drawer" is none of the folders/);
  });

  it('finds that the page shows other folders, and brings it up to date', async () => {
    const page = join(project, 'docs/architecture.md');
    const text = await readFile(page, 'utf8');
    await writeFile(page, text.replace('| `egress`', '| `ingress`'));
    expect((await check()).faults).toEqual([
      'docs/architecture.md shows other folders: npm run folders -- --write',
    ]);
    expect((await check('--write')).code).toBe(0);
    expect(await readFile(page, 'utf8')).toBe(text);
  });
});
