import type { Command } from 'commander';

/** Shows in the command's help how it is used. */
export function addExample(command: Command, ...lines: readonly string[]): Command {
  return command.addHelpText('after', ['', 'Example:', ...lines.map((line) => `  ${line}`)].join('\n'));
}
