import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ConsumerProject } from '../consumer-project';
import { packPackage } from '../pack-package';
import { Terminal } from './terminal';

export interface CliResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type Environment = Readonly<Record<string, string>>;

/** The command line as a stranger has it: from its one tarball, in a clean folder, with a home of its own. */
export class InstalledCli {
  private constructor(private readonly project: ConsumerProject) {}

  static async install(): Promise<InstalledCli> {
    const { folder, tarball } = await packPackage('cli');
    try {
      return new InstalledCli(await ConsumerProject.install({ '@hookferry/cli': tarball }));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  get program(): string {
    return join(this.project.folder, 'node_modules/.bin/hookferry');
  }

  get folder(): string {
    return this.project.folder;
  }

  get configFile(): string {
    return join(this.folder, 'config', 'hookferry', 'config.json');
  }

  /** As a script runs it. @param input for stdin; without it, stdin is at its end. */
  async run(args: readonly string[], environment: Environment = {}, input = ''): Promise<CliResult> {
    const child = this.start(args, environment);
    const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)];
    child.stdin?.end(input);
    const [exitCode] = (await once(child, 'close')) as [number | null];
    return { exitCode, stdout: stdout(), stderr: stderr() };
  }

  start(args: readonly string[], environment: Environment = {}): ChildProcess {
    return spawn(this.program, args, { cwd: this.folder, env: this.#environment(environment) });
  }

  /** As a person runs it. */
  open(args: readonly string[], environment: Environment = {}): Terminal {
    return new Terminal([this.program, ...args], this.folder, this.#environment(environment));
  }

  async remove(): Promise<void> {
    await this.project.remove();
  }

  #environment(more: Environment): Environment {
    return {
      PATH: process.env.PATH ?? '',
      XDG_CONFIG_HOME: join(this.folder, 'config'),
      TERM: 'xterm',
      ...more,
    };
  }
}

function textOf(stream: NodeJS.ReadableStream | null): () => string {
  let text = '';
  stream?.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return () => text;
}
