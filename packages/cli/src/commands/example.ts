import type { Command } from 'commander';

const firstLines = new WeakMap<Command, string>();

/** The first of its examples. Undefined: it has none, as a group of commands. */
export const exampleOf = (command: Command): string | undefined => firstLines.get(command);

/** Shows in the command's help how it is used, and where it was used wrongly. */
export function addExample(command: Command, ...lines: readonly [string, ...string[]]): Command {
  firstLines.set(command, lines[0]);
  return command.addHelpText('after', ['', 'Example:', ...lines.map((line) => `  ${line}`)].join('\n'));
}
