import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { parseId } from '../../input/parse-flags';
import { addExample } from '../example';

export function addResendDelivery(deliveries: Command, cli: Cli): void {
  const resend = deliveries
    .command('resend')
    .description('Send a delivery again, now.')
    .argument('<id>', 'its id: EVENT.ENDPOINT', parseId)
    .action((id: string) => resendDelivery(id, cli));
  addExample(resend, 'hookferry deliveries resend quick-win-4711.wh_01m7ze3thwae6532vdxr7r');
}

async function resendDelivery(id: string, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const delivery = await client.POST('/v1/deliveries/{id}/redeliver', { params: { path: { id } } });
  const how = delivery.status === 'held' ? 'will be sent when it is released' : 'is being sent again';
  cli.output.result(delivery, `The delivery ${id} ${how}.`);
}
