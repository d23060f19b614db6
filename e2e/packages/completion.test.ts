import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { askTool } from './ask-tool';
import { hasTerminals, Terminal } from './cli/terminal';
import { PROJECT } from './pack-package';
import { runWell } from './run-program';

interface Shell {
  readonly program: string;
  readonly root?: string;
  readonly libraryPath?: string;
}

const PROGRAM = join(PROJECT, 'packages/cli/bin/hookferry.js');
const CTRL_A = '\u0001';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'completion-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Undefined, and said loudly, where the shell can be had neither installed nor from Debian. */
async function provideShell(name: 'fish' | 'zsh'): Promise<Shell | undefined> {
  const found = await askTool<Shell | { refusal: string }>(
    'tools/test/debian-shell.mjs',
    `provideShell('${name}')`,
  );
  if (found && 'program' in found) return found;
  process.stderr.write(`SKIPPED: the completion in ${name}, which can't be had here: ${found?.refusal}.\n`);
  return undefined;
}

async function writeScript(name: string): Promise<string> {
  const script = join(folder, `hookferry.${name}`);
  await writeFile(script, await runWell(process.execPath, [PROGRAM, 'completion', name], folder));
  return script;
}

function environmentOf({ libraryPath }: Shell): Record<string, string> {
  const libraries: Record<string, string> = libraryPath === undefined ? {} : { LD_LIBRARY_PATH: libraryPath };
  return { ...libraries, PATH: process.env.PATH ?? '', HOME: folder, TERM: 'xterm' };
}

// What each shell has to find, whichever way it is asked.
const LINES: readonly (readonly [string, readonly string[]])[] = [
  ['hookferry webh', ['webhooks']],
  ['hookferry webhooks li', ['list']],
  ['hookferry dead-letters re', ['retry']],
  ['hookferry --json types del', ['delete']],
  ['hookferry webhooks show crm --js', ['--json']],
  ['hookferry completion fi', ['fish']],
];

it('fish completes subcommands and flags', async () => {
  const fish = await provideShell('fish');
  if (fish === undefined) return;
  const script = await writeScript('fish');
  const settings = Object.entries(environmentOf(fish)).map(([name, value]) => `${name}=${value}`);
  const complete = async (line: string) => {
    const command = ['--no-config', '-c', `source ${script}; complete -C '${line}'`];
    const output = await runWell('env', ['-i', ...settings, fish.program, ...command], folder);
    return output.trim().split('\n');
  };
  for (const [line, words] of LINES) expect([line, await complete(line)]).toEqual([line, words]);
  expect(await complete('hookferry dead-letters ')).toEqual(
    expect.arrayContaining(['drop', 'list', '--help']),
  );
});

it('zsh completes subcommands and flags', async () => {
  const zsh = await provideShell('zsh');
  if (zsh === undefined) return;
  if (!hasTerminals()) {
    process.stderr.write('SKIPPED: the completion in zsh. There is no python3 with pty here.\n');
    return;
  }
  const script = await writeScript('zsh');
  const terminal = new Terminal([zsh.program, '-f', '-i'], folder, environmentOf(zsh));
  terminal.type(
    `${whereItsFunctionsAre(zsh)}autoload -Uz compinit; compinit -u -D; source ${script}; echo loaded-$((6*7))\r`,
  );
  await terminal.waitFor('loaded-42');
  for (const [line, [word]] of LINES) {
    const completed = line.replace(/\S+$/, word ?? '');
    // What the line has become is told by the shell itself: on the screen it comes in pieces.
    terminal.type(`${line}\t${CTRL_A}echo 'line:' \r`);
    await terminal.waitFor(`\nline: ${completed}`);
  }
  terminal.type('exit\r');
  expect(await terminal.end()).toBe(0);
});

/** One that is not installed looks for its parts where it would have been. */
function whereItsFunctionsAre({ root }: Shell): string {
  if (root === undefined) return '';
  const modules = `module_path=(${root}/usr/lib/*/zsh/*(/))`;
  return `${modules}; fpath=(${root}/usr/share/zsh/functions/**/*(/)); zmodload zsh/zle; setopt zle; `;
}
