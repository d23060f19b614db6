import { presentDeadLetter, readDeadLetter } from '@hookferry/core/replays/manage-dead-letters';
import type { Command } from 'commander';
import type { Cli } from '../cli';
import { withAdvice } from '../failure';
import { formatJson } from '../format';
import { HOW_TO_LIST, parseDeadLetterId } from './dead-letters';

export function addShowDeadLetter(deadLetters: Command, { output, withService }: Cli): void {
  deadLetters
    .command('show')
    .description('Print a dead letter with its data, as JSON.')
    .argument('<id>', 'as it stands in the list')
    .action(async (givenId: unknown) => {
      const id = parseDeadLetterId(givenId);
      await withService(async (service) => {
        const deadLetter = await withAdvice(
          'not_found',
          HOW_TO_LIST,
          readDeadLetter(service.deadLetters, id),
        );
        output.out(indented(presentDeadLetter(deadLetter)));
      });
    });
}

function indented(json: string): string {
  try {
    return formatJson(JSON.parse(json));
  } catch (error) {
    // Nested too deeply to be written anew.
    if (error instanceof RangeError) return `${json}\n`;
    throw error;
  }
}
