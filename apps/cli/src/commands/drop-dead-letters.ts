import type { Command } from 'commander';
import type { Cli } from '../cli';
import { addEachDeadLetter } from './each-dead-letter';

export function addDropDeadLetters(deadLetters: Command, cli: Cli): void {
  addEachDeadLetter(deadLetters, cli, {
    name: 'drop',
    description: 'Drop dead letters for good. A delivery or a replay whose job it was is cancelled.',
    done: ['Dropped', 'dropped'],
    act: ({ drop }, id) => drop(id),
  });
}
