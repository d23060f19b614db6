import type { Command } from 'commander';
import type { Cli } from '../../cli';
import { addListDeliveries } from './list-deliveries';
import { addRedeliver } from './redeliver';
import { addShowDelivery } from './show-delivery';
import { addTailDeliveries } from './tail-deliveries';

export function addDeliveries(program: Command, cli: Cli): void {
  const deliveries = program
    .command('deliveries')
    .description('Deliveries: each is an event on its way to one webhook.');
  addListDeliveries(deliveries, cli);
  addShowDelivery(deliveries, cli);
  addRedeliver(deliveries, cli);
  addTailDeliveries(deliveries, cli);
}
