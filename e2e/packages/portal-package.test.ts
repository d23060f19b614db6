import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ConsumerProject, STRICT_COMPILER } from './consumer-project';
import { installPortal } from './install-client';
import { PROJECT, programOf } from './pack-package';
import { runWell } from './run-program';

let project: ConsumerProject;
beforeAll(async () => {
  const { devDependencies } = JSON.parse(
    await readFile(join(PROJECT, 'packages/portal/package.json'), 'utf8'),
  );
  const { react, '@types/react': types } = devDependencies as Readonly<Record<string, string>>;
  project = await installPortal({ react: react ?? '', '@types/react': types ?? '' });
});
afterAll(() => project.remove());

/** Those of the README in one language. */
async function readExamples(language: string): Promise<readonly string[]> {
  const page = await readFile(join(PROJECT, 'packages/portal/README.md'), 'utf8');
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))].map(
    ([, code = '']) => code,
  );
}

/** @returns what the compiler says: nothing if all is well */
async function compile(files: Readonly<Record<string, string>>, options: object): Promise<string> {
  await Promise.all(Object.entries(files).map(([name, text]) => project.write(name, text)));
  const compilerOptions = {
    ...STRICT_COMPILER,
    lib: ['es2022', 'dom', 'dom.iterable'],
    noEmit: true,
    ...options,
  };
  await project.write('tsconfig.json', JSON.stringify({ compilerOptions, include: Object.keys(files) }));
  return (await project.run(programOf('tsc'), '-p', '.')).output;
}

const BUNDLER = {
  types: [],
  jsx: 'react-jsx',
  module: 'esnext',
  moduleResolution: 'bundler',
  skipLibCheck: true,
};

it('what its README shows type-checks in a strict program for browsers', async () => {
  const [ts, tsx] = await Promise.all([readExamples('ts'), readExamples('tsx')]);
  expect([ts.length, tsx.length]).toEqual([2, 2]);
  const files = [...ts.map((code, i) => [`e${i}.ts`, code]), ...tsx.map((code, i) => [`x${i}.tsx`, code])];
  expect(await compile(Object.fromEntries(files), BUNDLER)).toBe('');
});

it('its events, its properties and the results of its hooks have types', async () => {
  const wrong = `
    import '@hookferry/portal';
    import { useWebhook, useWebhooks } from '@hookferry/portal/hooks';
    const portal = document.createElement('hookferry-portal');
    // @ts-expect-error no such mode
    portal.mode = 'sepia';
    portal.addEventListener('ready', ({ detail }) => {
      // @ts-expect-error that is of another event
      return detail.kind;
    });
    export function useWrong() {
      // @ts-expect-error no such filter
      useWebhooks({ state: 'enabled' });
      // @ts-expect-error no such member
      return useWebhook('crm').data?.address;
    }`;
  expect(await compile({ 'wrong.ts': wrong }, BUNDLER)).toBe('');
});

it('its parts can be imported where there is no page, as a server that renders does', async () => {
  const program = `
    import { HookferryPortalElement } from '@hookferry/portal';
    import { HookferryPortal } from '@hookferry/portal/react';
    import { PortalSession } from '@hookferry/portal/hooks';
    console.log(HookferryPortalElement.name, HookferryPortal.name, PortalSession.name);`;
  await project.write('server.mjs', program);
  expect(await runWell(process.execPath, ['server.mjs'], project.folder)).toBe(
    'HookferryPortalElement HookferryPortal PortalSession\n',
  );
});

it('publint and attw find nothing in it', async () => {
  const folder = join(PROJECT, 'packages/portal');
  expect(await runWell(programOf('publint'), ['--strict'], folder)).toContain('All good!');
  // It is for browsers, which have no `require`. A problem that is not of that kind fails the program.
  const options = ['--pack', '.', '--no-color', '--profile', 'esm-only'];
  const found = await runWell(programOf('attw'), options, folder);
  const problems = found.split('\n').filter((line) => /[💀❌]/u.test(line) && !line.includes('(ignored'));
  expect(problems).toEqual([]);
});
