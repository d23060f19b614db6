import { cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { provideProgram } from '../support/provide-program';
import { Stack } from '../support/stack';
import { type CommandLine, commandOf, provideToolchain, runWith, type Toolchain } from '../support/toolchain';
import { until } from '../support/until';
import { RunningProgram } from './running-program';

interface Language {
  /** Of the packages, in `clients/`. */
  readonly folder: string;
  /** Where something is compiled to, `work` is a folder of its own. The last command runs the tests. */
  readonly tests: (work: string) => readonly CommandLine[];
  /** The last line of the tests has it. */
  readonly passed: RegExp;
  readonly example: {
    readonly file: string;
    /** Beside the example, such as the package. */
    readonly prepare?: (work: string) => void;
    readonly compile?: (work: string) => CommandLine;
    readonly start: (work: string, port: number) => CommandLine;
    readonly path?: string;
  };
}

const CLIENTS = join(__dirname, '..', '..', 'clients');
const PORT_OF_EXAMPLES = '4000';

const LANGUAGES: readonly Language[] = [
  {
    folder: 'go',
    tests: () => [
      ['gofmt', '-l', '-e', '.'],
      ['go', 'vet', './...'],
      ['go', 'test', '-count=1', './...'],
    ],
    passed: /^ok /,
    example: {
      file: 'main.go',
      prepare: (work) =>
        writeFileSync(
          join(work, 'go.mod'),
          `module example\n\ngo 1.18\n\nrequire github.com/hookferry/hookferry/clients/go v0.0.0\n\n` +
            `replace github.com/hookferry/hookferry/clients/go => ${join(CLIENTS, 'go')}\n`,
        ),
      compile: (work) => ['go', 'build', '-o', join(work, 'example'), '.'],
      start: (work) => [join(work, 'example')],
      path: 'webhooks',
    },
  },
  {
    folder: 'java',
    tests: (work) => [
      ['javac', '-Xlint:all', '-Werror', '-encoding', 'UTF-8', '-d', work, ...filesIn('java/src', '.java')],
      ['java', '-cp', work, 'com.hookferry.Tests'],
    ],
    passed: /^\d\d+ passed, 0 failed$/,
    example: {
      file: 'Main.java',
      compile: (work) => [
        ...(['javac', '-encoding', 'UTF-8', '-d', work] as const),
        ...filesIn('java/src/main', '.java'),
        join(work, 'Main.java'),
      ],
      start: (work) => ['java', '-cp', work, 'Main'],
      path: 'webhooks',
    },
  },
  {
    folder: 'csharp',
    tests: (work) => [
      [
        ...(['mcs', '-langversion:7.2', '-warnaserror', `-out:${join(work, 'tests.exe')}`] as const),
        ...filesIn('csharp/src', '.cs'),
        ...filesIn('csharp/tests', '.cs'),
      ],
      ['mono', join(work, 'tests.exe')],
    ],
    passed: /^\d\d+ passed, 0 failed$/,
    example: {
      file: 'Program.cs',
      compile: (work) => [
        ...(['mcs', '-langversion:7.2', '-warnaserror', `-out:${join(work, 'example.exe')}`] as const),
        ...filesIn('csharp/src', '.cs'),
        join(work, 'Program.cs'),
      ],
      start: (work) => ['mono', join(work, 'example.exe')],
    },
  },
  {
    folder: 'php',
    tests: () => [['php', 'tests/run.php']],
    passed: /^\d\d+ passed, 0 failed, \d skipped$/,
    example: {
      file: 'receiver.php',
      prepare: (work) => cpSync(join(CLIENTS, 'php'), join(work, 'hookferry'), { recursive: true }),
      start: (work, port) => ['php', '-S', `127.0.0.1:${port}`, join(work, 'receiver.php')],
    },
  },
  {
    folder: 'ruby',
    tests: () => [
      ['ruby', '-w', '-Itest', '-e', 'Dir["./test/test_*.rb"].sort.each { |file| require file }'],
    ],
    passed: /^\d{3} runs, \d+ assertions, 0 failures, 0 errors, 0 skips$/,
    example: {
      file: 'config.ru',
      start: (work, port) => ['puma', '-b', `tcp://127.0.0.1:${port}`, '-t', '1:2', join(work, 'config.ru')],
    },
  },
];

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

describe('the receivers in other languages', () => {
  const works: string[] = [];
  let stack: Stack | undefined;
  afterAll(async () => {
    await stack?.stop();
    await Promise.all(works.map((work) => rm(work, { recursive: true, force: true })));
  });

  async function startStack(): Promise<Stack> {
    stack ??= await Stack.start();
    return stack;
  }

  function makeWork(): string {
    const work = mkdtempSync(join(tmpdir(), 'webhooks-language-'));
    works.push(work);
    return work;
  }

  for (const language of LANGUAGES) {
    const { folder } = language;
    const provided = provideToolchain(folder);
    const check = 'program' in provided ? it : it.skip;
    const note = 'program' in provided ? '' : " (skipped: its programs can't be had here)";
    if ('refusal' in provided) console.warn(`SKIPPED: the receiver in ${folder}: ${provided.refusal}`);

    check(`check and read what conformance/ says, and pass their other tests, in ${folder}${note}`, () => {
      if ('program' in provided) expectTestsPass(language, provided.program, makeWork());
    });

    check(
      `receive a delivery with the example of their README, and refuse a forged one, in ${folder}${note}`,
      async () => {
        if ('refusal' in provided) throw new Error(provided.refusal);
        await expectExampleReceives(await startStack(), language, provided.program, makeWork());
      },
    );
  }
});

function expectTestsPass({ folder, tests, passed }: Language, toolchain: Toolchain, work: string): void {
  const run = (command: CommandLine) => runWith(toolchain, command, join(CLIENTS, folder));
  const outputs = tests(work).map(run);
  expect(lastLineOf(outputs.at(-1))).toMatch(passed);
  // gofmt lists the files that it would change.
  if (folder === 'go') expect(outputs[0]).toBe('');
}

async function expectExampleReceives(
  { client }: Stack,
  { folder, example }: Language,
  toolchain: Toolchain,
  work: string,
): Promise<void> {
  const port = freePort();
  writeExample(folder, join(work, example.file), port);
  example.prepare?.(work);
  if (example.compile) runWith(toolchain, example.compile(work), work);
  const environment = { ...toolchain.environment, WEBHOOK_SECRET: SECRET, RUBYLIB: rubyLibrary(toolchain) };
  const program = new RunningProgram(commandOf(toolchain, example.start(work, port)), environment, work);
  try {
    const url = `http://127.0.0.1:${port}/${example.path ?? ''}`;
    const forged = await until(() => post(url, program));
    expect(forged).toEqual({ status: 401, text: expect.stringMatching(/^no_match: No signature in /) });

    const type = {
      description: 'An order was placed.',
      schema: { type: 'object' },
      example: { id: 'ord_1' },
    };
    const { status } = await client.request('PUT', '/v1/event-types/order.created', type);
    expect([200, 201]).toContain(status);
    const webhook = await client.register(url, ['order.created'], { secret: SECRET });
    const eventId = await client.publish('order.created', { id: 'ord_4711', total: 99.5 });
    const delivery = await client.waitForStatus(webhook.id, eventId, 'delivered');
    expect(delivery.attempts.map(({ outcome }) => outcome)).toEqual(['delivered']);
    await program.waitFor(new RegExp(`(${eventId}) order\\.created .*ord_4711`));
    await client.request('DELETE', `/v1/webhooks/${webhook.id}`);
  } finally {
    await program.stop();
  }
}

/** The first block of the README in its language, at another port. */
function writeExample(folder: string, path: string, port: number): void {
  const readme = readFileSync(join(CLIENTS, folder, 'README.md'), 'utf8');
  const [, text] = new RegExp(`^\`\`\`${folder}\n([^]*?)^\`\`\`$`, 'm').exec(readme) ?? [];
  if (text === undefined) throw new Error(`The README of ${folder} has no example.`);
  writeFileSync(path, text.replaceAll(PORT_OF_EXAMPLES, String(port)));
}

/** A request with a signature that does not fit, once the program listens. */
async function post(url: string, program: RunningProgram) {
  const headers = { 'x-service-signature': `sha256=${'0'.repeat(64)}` };
  const response = await fetch(url, { method: 'POST', headers, body: '{}' }).catch(() => undefined);
  if (response) return { status: response.status, text: await response.text() };
  if (program.hasEnded) throw new Error(`It ended: ${program.output}`);
  return undefined;
}

function rubyLibrary({ environment }: Toolchain): string {
  return [join(CLIENTS, 'ruby/lib'), environment.RUBYLIB].filter(Boolean).join(':');
}

function lastLineOf(output = ''): string {
  return output.trim().split('\n').at(-1) ?? '';
}

function filesIn(folder: string, ending: string): readonly string[] {
  const files = readdirSync(join(CLIENTS, folder), { recursive: true, encoding: 'utf8' });
  return files.filter((file) => file.endsWith(ending)).map((file) => join(CLIENTS, folder, file));
}

function freePort(): number {
  const call = "findFreePort('127.0.0.1').then((program) => ({ program }))";
  const provided = provideProgram<number>('tools/processes/free-port.mjs', call);
  if ('refusal' in provided) throw new Error(provided.refusal);
  return provided.program;
}
