import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { parseId } from '../../input/parse-flags';
import { addExample } from '../example';

export function addRedeliver(deliveries: Command, cli: Cli): void {
  const command = deliveries
    .command('redeliver')
    .description('Redeliver: send a delivery once more, now.')
    .argument('<id>', 'its id: EVENT.WEBHOOK', parseId)
    .action((id: string) => redeliver(id, cli));
  addExample(command, 'hookferry deliveries redeliver order-4711.wh_01m7ze3thwae6532vdxr7r');
}

async function redeliver(id: string, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const delivery = await client.POST('/v1/deliveries/{id}/redeliver', { params: { path: { id } } });
  const how = delivery.status === 'held' ? 'will be sent when it is released' : 'is being redelivered';
  cli.output.result(delivery, `The delivery ${id} ${how}.`);
}
