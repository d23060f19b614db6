import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

const FOLDER = join(__dirname, '../../.github/workflows');

const permissionsSchema = z.record(z.string(), z.enum(['read', 'write', 'none']));
const stepSchema = z.looseObject({ uses: z.string().optional(), run: z.string().optional() });
const jobSchema = z.looseObject({ permissions: permissionsSchema.optional(), steps: z.array(stepSchema) });
const workflowSchema = z.looseObject({
  permissions: permissionsSchema,
  jobs: z.record(z.string(), jobSchema),
});
type Job = z.infer<typeof jobSchema>;

const files = readdirSync(FOLDER).map((name) => ({ name, text: readFileSync(join(FOLDER, name), 'utf8') }));

/** What is not named by a full commit, with the version beside it for people. */
function findMovableActions(text: string): string[] {
  const used = text.split('\n').filter((line) => /^\s*(?:- )?uses:/.test(line));
  return used.filter((line) => !/uses: [\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line));
}

/** Jobs that may speak for the repository, and what else they do than to hand over what is finished. */
function findOverpowered(text: string): string[] {
  const { permissions, jobs } = workflowSchema.parse(parse(text));
  const ofAll = Object.entries(permissions).filter(([, level]) => level === 'write');
  const powerful = Object.entries(jobs).filter(([, job]) => isPowerful(job));
  return [
    ...ofAll.map(([name]) => `all jobs: ${name}`),
    ...powerful.flatMap(([name, { steps }]) =>
      steps.filter((step) => !isHandingOver(step)).map((step) => `${name}: ${step.uses ?? step.run}`),
    ),
  ];
}

function isPowerful({ permissions = {} }: Job): boolean {
  return Object.values(permissions).includes('write');
}

// No checkout, no install, no build: nothing of this repository or of its dependencies runs.
function isHandingOver({ uses, run }: Job['steps'][number]): boolean {
  if (uses !== undefined) return /^actions\/(?:setup-node|download-artifact)@/.test(uses);
  const commands = (run ?? '').split('\n').map((line) => line.trim());
  return commands.every((line) =>
    /^(?:|for package in [\w ]+; do|done|npm publish --ignore-scripts .*)$/.test(line),
  );
}

it('are there, each with permissions of its own', () => {
  expect(files.map(({ name }) => name).sort()).toEqual([
    'nightly.yml',
    'release.yml',
    'site.yml',
    'test.yml',
  ]);
  for (const { text } of files) expect(() => workflowSchema.parse(parse(text))).not.toThrow();
});

it.each(files)('$name names each action by a commit that nobody can move', ({ text }) => {
  expect(text).toContain('uses: ');
  expect(findMovableActions(text)).toEqual([]);
});

it.each(files)('$name lets nothing of ours speak for the repository', ({ text }) => {
  expect(findOverpowered(text)).toEqual([]);
});

it('the job that publishes takes what another one has packed', () => {
  const release = files.find(({ name }) => name === 'release.yml');
  const { jobs } = workflowSchema.parse(parse(release?.text ?? ''));
  const may = Object.entries(jobs).filter(([, { permissions }]) => permissions?.['id-token'] === 'write');
  expect(may.map(([name, { permissions, needs }]) => ({ name, permissions, needs }))).toEqual([
    { name: 'publish', permissions: { 'id-token': 'write' }, needs: 'pack' },
  ]);
});
