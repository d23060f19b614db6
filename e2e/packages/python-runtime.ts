import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const NAMES = ['python3', 'python3.9', 'python3.10', 'python3.11', 'python3.12', 'python3.13', 'python3.14'];
const VERSION = 'import sys, venv, ensurepip; print(*sys.version_info[:2])';
const OLDEST_MINOR = 9;

export interface Python {
  readonly command: string;
  /** Such as `3.11`. */
  readonly version: string;
}

export interface Ended {
  readonly status: number | null;
  /** Standard output and standard error. */
  readonly output: string;
}

/** Each Python from 3.9 on that is installed here, one of each version; the one that is called `python3` first. */
export function findPythons(): readonly Python[] {
  const found = new Map<string, Python>();
  for (const command of [...NAMES, ...ofPyenv()]) {
    const [major, minor] = run(command, ['-c', VERSION]).output.trim().split(' ').map(Number);
    if (major !== 3 || minor === undefined || minor < OLDEST_MINOR) continue;
    const version = `3.${minor}`;
    if (!found.has(version)) found.set(version, { command, version });
  }
  return [...found.values()];
}

/** Those that pyenv has installed: only one of them is on the path. */
function ofPyenv(): readonly string[] {
  const versions = join(process.env.PYENV_ROOT ?? join(homedir(), '.pyenv'), 'versions');
  return existsSync(versions) ? readdirSync(versions).map((name) => join(versions, name, 'bin/python')) : [];
}

/** A virtual environment of its own; its `python`. */
export function makeVenv(python: Python, folder: string, ...options: readonly string[]): string {
  expectSuccess(run(python.command, ['-m', 'venv', ...options, folder]));
  return join(folder, 'bin', 'python');
}

/** Whether all of them were installed; where they can't be had, it says so soon. */
export function pipInstall(python: string, requirements: readonly string[]): boolean {
  return run(python, ['-m', 'pip', 'install', '--quiet', '--no-compile', ...requirements]).status === 0;
}

export function run(
  command: string,
  args: readonly string[],
  options: { readonly cwd?: string; readonly environment?: Readonly<Record<string, string>> } = {},
): Ended {
  const { stdout, stderr, status } = spawnSync(command, args, {
    cwd: options.cwd,
    encoding: 'utf8',
    env: {
      ...process.env,
      PIP_RETRIES: '0',
      PIP_DISABLE_PIP_VERSION_CHECK: '1',
      PYTHONDONTWRITEBYTECODE: '1',
      ...options.environment,
    },
  });
  return { status, output: `${stdout ?? ''}${stderr ?? ''}` };
}

export function expectSuccess({ status, output }: Ended): void {
  if (status !== 0) throw new Error(`It ended with ${status}: ${output}`);
}
