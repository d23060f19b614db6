import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Cli } from '../cli';
import { UsageError } from '../failures/usage-error';
import { addExample } from './example';

/** The folders of `templates`, with what follows once one is copied. */
const NEXT_STEPS = {
  express: ['npm install', 'npm test', 'WEBHOOK_SECRET=whsec_… npm start'],
  fastify: ['npm install', 'npm test', 'WEBHOOK_SECRET=whsec_… npm start'],
  flask: [
    'python -m venv .venv && . .venv/bin/activate && pip install -r requirements.txt',
    'python -m unittest',
    'WEBHOOK_SECRET=whsec_… python app.py',
  ],
  go: ['go test ./...', 'WEBHOOK_SECRET=whsec_… go run .'],
} as const;
type Framework = keyof typeof NEXT_STEPS;

const FRAMEWORKS = Object.keys(NEXT_STEPS) as readonly Framework[];
// The same from the compiled sources and from the one file of the tarball: see `templatesFolder`.
const TEMPLATES = 'templates';

interface InitFlags {
  readonly framework: Framework;
}

export function addInit(program: Command, cli: Cli): void {
  const init = program
    .command('init')
    .description('Write a receiver into a folder: it verifies, handles each event once, and has tests.')
    .argument('<folder>', 'where to: it is made if it is not there')
    .addOption(
      new Option('--framework <name>', 'what it is written with').choices(FRAMEWORKS).makeOptionMandatory(),
    )
    .action((folder: string, { framework }: InitFlags) => writeReceiver(folder, framework, cli));
  addExample(init, 'hookferry init my-receiver --framework express');
}

/** @throws UsageError if it would replace a file. */
async function writeReceiver(folder: string, framework: Framework, { output }: Cli): Promise<void> {
  const template = join(await templatesFolder(), framework);
  const files = (await readdir(template)).sort();
  const existing = await readdir(folder).catch(whenMissing);
  const inTheWay = files.filter((file) => existing.includes(file));
  if (inTheWay.length > 0) {
    throw new UsageError(
      `${folder} has ${inTheWay.join(', ')} already.`,
      'Name a folder that is empty, or that does not exist yet. Nothing was written.',
    );
  }
  await mkdir(folder, { recursive: true });
  for (const file of files) await copyFile(join(template, file), join(folder, file), constants.COPYFILE_EXCL);
  await takeFromCheckout(template, folder);
  output.result({ folder, framework, files }, `Wrote a receiver into ${folder}: ${files.join(', ')}`);
  const place = relative('', folder) === '' ? [] : [`cd ${folder}`];
  const steps = [...place, ...NEXT_STEPS[framework]].map((step) => `  ${step}`);
  output.note(
    `\nNext:\n\n${steps.join('\n')}\n\nThen register it: hookferry webhooks create URL --events order.created`,
  );
}

/** Where each language's receiver is in a checkout, and which file of a template asks for it. */
const IN_CHECKOUT = [
  {
    file: 'package.json',
    from: 'packages/receiver',
    asked: /("@hookferry\/receiver": )"[^"]*"/,
    by: '$1"file:PLACE"',
  },
  { file: 'requirements.txt', from: 'clients/python', asked: /^hookferry\b.*$/m, by: 'PLACE' },
] as const;

/** From a checkout, the receiver uses the package of that checkout: the registry may not have this version. */
async function takeFromCheckout(template: string, folder: string): Promise<void> {
  const checkout = resolve(template, '../../../..');
  for (const { file, from, asked, by } of IN_CHECKOUT) {
    // Sources are in no package that is installed.
    const isThere = (await readdir(join(checkout, from, 'src')).catch(() => [])).length > 0;
    const text = await readFile(join(folder, file), 'utf8').catch(() => '');
    if (!isThere || !asked.test(text)) continue;
    const place = relative(resolve(folder), join(checkout, from));
    await writeFile(join(folder, file), text.replace(asked, by.replace('PLACE', place)));
  }
}

function whenMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  if (error.code === 'ENOTDIR') {
    throw new UsageError('There is a file of this name.', 'Name a folder. Nothing was written.');
  }
  throw error;
}

/** Beside the folder of the program, which the compiler and the bundler put at different depths. */
async function templatesFolder(): Promise<string> {
  for (const place of ['..', '../..']) {
    const folder = join(__dirname, place, TEMPLATES);
    if ((await readdir(folder).catch(() => [])).length > 0) return folder;
  }
  throw new Error('The templates are not part of this installation.');
}
