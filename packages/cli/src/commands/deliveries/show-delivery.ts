import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { parseId } from '../../input/parse-flags';
import { addExample } from '../example';
import { ATTEMPT_COLUMNS, DELIVERY_COLUMNS } from './delivery-columns';

export function addShowDelivery(deliveries: Command, cli: Cli): void {
  const show = deliveries
    .command('show')
    .description('Show a delivery with its attempts.')
    .argument('<id>', 'its id: EVENT.ENDPOINT', parseId)
    .action((id: string) => showDelivery(id, cli));
  addExample(show, 'hookferry deliveries show quick-win-4711.wh_01m7ze3thwae6532vdxr7r');
}

async function showDelivery(id: string, cli: Cli): Promise<void> {
  const { output } = cli;
  const client = await connect(cli);
  const delivery = await client.GET('/v1/deliveries/{id}', { params: { path: { id } } });
  output.document(delivery, DELIVERY_COLUMNS);
  if (output.isJson) return;
  output.write('\n');
  output.list(delivery.attempts, ATTEMPT_COLUMNS, 'Nothing was sent yet.');
}
