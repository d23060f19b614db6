import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expectSuccess, makeVenv, type Python, pipInstall, run } from './python-runtime';

export const PACKAGE = join(__dirname, '..', '..', 'clients/python');
export const MYPY = 'mypy==2.4.0';
const FRAMEWORKS = ['flask>=3', 'django>=4.2', 'fastapi>=0.100'];

/** What could be installed here to check the package with. */
export interface PythonTools {
  /** The Python of the environment that has them. */
  readonly python: string;
  readonly hasMypy: boolean;
  readonly hasFrameworks: boolean;
  readonly wheel: string;
}

export function installTools(python: Python, folder: string): PythonTools {
  const program = makeVenv(python, join(folder, 'tools'));
  return {
    python: program,
    hasMypy: pipInstall(program, [MYPY]),
    hasFrameworks: pipInstall(program, FRAMEWORKS),
    wheel: buildWheel(program, join(folder, 'wheels')),
  };
}

/** As README.md says. Nothing is fetched for it. */
function buildWheel(program: string, wheels: string): string {
  mkdirSync(wheels);
  const options = ['--quiet', '--no-deps', '--no-index', '-w', wheels];
  expectSuccess(run(program, ['-m', 'pip', 'wheel', ...options, PACKAGE]));
  const [wheel, ...others] = readdirSync(wheels);
  if (wheel === undefined || others.length > 0) throw new Error('There is not exactly one wheel.');
  return join(wheels, wheel);
}

/** The Python of an environment that has the wheel, and nothing else. */
export function installWheel(
  python: Python,
  { python: withPip, wheel }: PythonTools,
  folder: string,
): string {
  const program = makeVenv(python, join(folder, 'clean'), '--without-pip');
  const options = ['--python', program, 'install', '--quiet', '--no-index'];
  expectSuccess(run(withPip, ['-m', 'pip', ...options, wheel]));
  return program;
}
