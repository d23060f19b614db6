import { Argument, type Command } from 'commander';
import type { Cli } from '../cli';
import { completionScripts, type Shell } from './completion-scripts';
import { addExample } from './example';

const SHELLS = Object.keys(completionScripts) as Shell[];

export function addCompletion(program: Command, { output }: Cli): void {
  const completion = program
    .command('completion')
    .description('Print the script by which a shell completes commands and flags.')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: Shell) => output.write(completionScripts[shell](wordsOf(program))));
  addExample(
    completion,
    'hookferry completion bash > ~/.local/share/bash-completion/completions/hookferry',
    'hookferry completion fish > ~/.config/fish/completions/hookferry.fish',
    'source <(hookferry completion zsh)   # in ~/.zshrc, after compinit',
  );
}

/** What may follow a command: by the command's words, such as `webhooks list`; the program's own are under ''. */
export type Words = ReadonlyMap<string, readonly string[]>;

export function wordsOf(program: Command): Words {
  const globals = program.options.flatMap(({ long }) => long ?? []);
  const words = new Map<string, readonly string[]>();
  visit(program, '');
  return words;

  function visit(command: Command, path: string): void {
    const own = command === program ? [] : command.options.flatMap(({ long }) => long ?? []);
    const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
    const subcommands = command.commands.map((each) => each.name());
    words.set(path, [...subcommands, ...choices, ...own, ...globals, '--help']);
    for (const each of command.commands) visit(each, `${path} ${each.name()}`.trim());
  }
}
