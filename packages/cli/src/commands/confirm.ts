import type { Command } from 'commander';
import type { Cli } from '../cli';
import { UsageError } from '../failures/usage-error';

export interface ConfirmFlags {
  readonly yes?: boolean;
}

export function addYes(command: Command): Command {
  return command.option('-y, --yes', 'do not ask for confirmation');
}

/** Goes on only if it is really meant. @throws UsageError if it is not. */
export async function requireYes({ prompt }: Cli, { yes }: ConfirmFlags, question: string): Promise<void> {
  if (yes || (await prompt.confirm(question, 'Pass --yes to confirm it.'))) return;
  throw new UsageError('Nothing was done.', 'Answer "y", or pass --yes, to do it.');
}
