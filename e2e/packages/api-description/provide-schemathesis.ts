import { execFileSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const VERSION = '4.25.0';
const FOLDER = join(__dirname, '../../..', `.cache/schemathesis-${VERSION}`);
const PROGRAM = join(FOLDER, 'bin/schemathesis');
// What Schemathesis needs.
const MIN_PYTHON = [3, 10] as const;
const INSTALL_TIMEOUT_MS = 180_000;

export type Provided = { readonly program: string } | { readonly missing: string };

/**
 * Schemathesis, the program: the one that SCHEMATHESIS names, or else the version of this file out of PyPI, in a Python
 * environment of its own that is kept. Where that can't be had, why not. At once, since jest has to know before it starts
 * whether there is anything to run.
 */
export function provideSchemathesis(): Provided {
  const own = process.env.SCHEMATHESIS;
  if (own !== undefined) return { program: own };
  if (existsSync(PROGRAM)) return { program: PROGRAM };
  try {
    requirePython();
    install();
    return { program: PROGRAM };
  } catch (error) {
    // Half an environment would be taken for a whole one.
    rmSync(FOLDER, { recursive: true, force: true });
    return { missing: lastLineOf(error as ExecError) };
  }
}

function requirePython(): void {
  const said = run('python3', ['-c', 'import sys; print(sys.version_info[0], sys.version_info[1])']);
  const [major = 0, minor = 0] = said.trim().split(' ').map(Number);
  if (major > MIN_PYTHON[0] || (major === MIN_PYTHON[0] && minor >= MIN_PYTHON[1])) return;
  throw new Error(`Python ${MIN_PYTHON.join('.')} is needed, and this is ${major}.${minor}`);
}

function install(): void {
  run('python3', ['-m', 'venv', FOLDER]);
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--retries', '1'];
  run(join(FOLDER, 'bin/python'), [...pip, `schemathesis==${VERSION}`]);
}

function run(program: string, options: readonly string[]): string {
  return execFileSync(program, options, { encoding: 'utf8', stdio: 'pipe', timeout: INSTALL_TIMEOUT_MS });
}

interface ExecError extends Error {
  readonly stderr?: string;
}

/** pip says it in many lines, of which the last one has the reason. */
function lastLineOf({ stderr = '', message }: ExecError): string {
  const lines = (stderr.trim() === '' ? message : stderr).trim().split('\n');
  return lines.at(-1) ?? message;
}
