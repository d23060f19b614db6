import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type ProgramResult, runProgram, runWell } from './run-program';

/** How strict a compiler a stranger may have: our declarations are checked as well. */
export const STRICT_COMPILER = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  module: 'nodenext',
  target: 'es2022',
};

/** A stranger's project, in an empty folder outside of this one. */
export class ConsumerProject {
  private constructor(readonly folder: string) {}

  /**
   * Installs what it depends on as a stranger would, from the registry.
   *
   * @param dependencies names and versions; a version may be the path of a tarball
   */
  static async install(dependencies: Readonly<Record<string, string>>): Promise<ConsumerProject> {
    const consumer = new ConsumerProject(await mkdtemp(join(tmpdir(), 'consumer-')));
    await consumer.write('package.json', JSON.stringify({ private: true, dependencies }));
    const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--no-package-lock'];
    await runWell('npm', ['install', ...quiet], consumer.folder);
    return consumer;
  }

  async write(path: string, text: string): Promise<string> {
    const whole = join(this.folder, path);
    await mkdir(dirname(whole), { recursive: true });
    await writeFile(whole, text);
    return whole;
  }

  run(command: string, ...parameters: readonly string[]): Promise<ProgramResult> {
    return runProgram(command, parameters, this.folder);
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
