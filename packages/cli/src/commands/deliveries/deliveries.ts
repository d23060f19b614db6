import type { Command } from 'commander';
import type { Cli } from '../../cli';
import { addListDeliveries } from './list-deliveries';
import { addResendDelivery } from './resend-delivery';
import { addShowDelivery } from './show-delivery';
import { addTailDeliveries } from './tail-deliveries';

export function addDeliveries(program: Command, cli: Cli): void {
  const deliveries = program.command('deliveries').description('Events on their way to a webhook each.');
  addListDeliveries(deliveries, cli);
  addShowDelivery(deliveries, cli);
  addResendDelivery(deliveries, cli);
  addTailDeliveries(deliveries, cli);
}
