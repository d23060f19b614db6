import { spawnSync } from 'node:child_process';
import { type Provided, provideProgram } from './provide-program';

export type CommandLine = readonly [string, ...string[]];

/** The programs of a language, as tools/languages finds them. */
export interface Toolchain {
  /** By the name that people type, such as `javac`. */
  readonly commands: Readonly<Record<string, CommandLine>>;
  readonly environment: Readonly<Record<string, string>>;
}

/** @param language `go`, `java`, `csharp`, `php` or `ruby`; those that are installed, or else Debian's */
export function provideToolchain(language: string): Provided<Toolchain> {
  return provideProgram<Toolchain>('tools/languages/find-language.mjs', `findLanguage('${language}')`);
}

/** With the program where it is. */
export function commandOf({ commands }: Toolchain, [name, ...parameters]: CommandLine): CommandLine {
  const [program, ...first] = commands[name] ?? [name];
  return [program, ...first, ...parameters];
}

/**
 * @returns its standard output
 * @throws Error with all output if it fails
 */
export function runWith(toolchain: Toolchain, command: CommandLine, cwd: string, input = ''): string {
  const [program, ...parameters] = commandOf(toolchain, command);
  const env = { ...process.env, ...toolchain.environment };
  const { status, stdout, stderr, error } = spawnSync(program, parameters, {
    cwd,
    env,
    input,
    encoding: 'utf8',
  });
  if (status === 0) return stdout;
  throw new Error(`${command.join(' ')} ended with ${status}: ${error ?? ''}${stdout}${stderr}`);
}
