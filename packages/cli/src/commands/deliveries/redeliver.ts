import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { parseId } from '../../input/parse-flags';
import { addExample } from '../example';
import { findDeliveryId, ID_HELP } from './delivery-id';

export function addRedeliver(deliveries: Command, cli: Cli): void {
  const command = deliveries
    .command('redeliver')
    .description('Redeliver: send a delivery once more, now.')
    .argument('<id>', ID_HELP, parseId)
    .action((id: string) => redeliver(id, cli));
  addExample(command, 'hookferry deliveries redeliver order-4711.crm');
}

async function redeliver(id: string, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const path = { id: await findDeliveryId(client, id) };
  const delivery = await client.POST('/v1/deliveries/{id}/redeliver', { params: { path } });
  const how = delivery.status === 'held' ? 'will be sent when it is released' : 'is being redelivered';
  cli.output.result(delivery, `The delivery ${id} ${how}.`);
}
