import type { Command } from 'commander';
import type { Cli } from '../cli';
import { addEachDeadLetter } from './each-dead-letter';

export function addRedriveDeadLetters(deadLetters: Command, cli: Cli): void {
  addEachDeadLetter(deadLetters, cli, {
    name: 'redrive',
    description: 'Put dead letters back onto their queues. What fails again is a dead letter again.',
    done: ['Put back', 'redriven'],
    act: ({ redrive }, id) => redrive(id),
  });
}
