import { type Command, CommanderError } from 'commander';
import type { Cli, Environment, GlobalFlags } from './cli';
import { exampleOf } from './commands/example';
import { describeFailure } from './failures/describe-failure';
import { didYouMean } from './failures/did-you-mean';
import { EXIT_CODES, type ExitCode } from './failures/exit-codes';
import { Prompt } from './input/prompt';
import type { Interrupts } from './interrupts';
import { Output } from './output/output';
import { configPath } from './profiles/config-path';
import { ProfileFile } from './profiles/profile-file';
import { createProgram } from './program';

export interface CliProcess {
  readonly environment: Environment;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly interrupts: Interrupts;
}

/** Runs one command line; says what went wrong, and gives how the process is to end. */
export async function runCli(args: readonly string[], given: CliProcess): Promise<ExitCode> {
  const { environment, stdin, stdout, stderr, interrupts } = given;
  const flags = () => program.opts<GlobalFlags>();
  // The command line may be refused before all of it is read.
  const isJson = () => flags().json === true || args.includes('--json');
  const output = new Output({ out: stdout, error: stderr, environment, isJson });
  const cli: Cli = {
    output,
    prompt: new Prompt({ input: stdin, output: stderr, isAllowed: () => flags().input }),
    interrupts,
    profileFile: new ProfileFile(configPath(environment)),
    environment,
    flags,
  };
  const program = createProgram(cli);
  try {
    await program.parseAsync(args, { from: 'user' });
    return EXIT_CODES.ok;
  } catch (error) {
    // Help that was asked for ends with 0.
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT_CODES.ok;
    const command = commandIn(program, args);
    const hint = await didYouMean(error, command, args, cli);
    const { exitCode, lines, document } = describeFailure(error, environment, exampleOf(command), hint);
    if (output.isJson && document) output.note(JSON.stringify({ error: document }));
    else for (const line of lines) output.note(line);
    return exitCode;
  }
}

/** The command that the words name, as far as they do. */
function commandIn(program: Command, args: readonly string[]): Command {
  return args.reduce(
    (command, word) => command.commands.find((each) => each.name() === word) ?? command,
    program,
  );
}
