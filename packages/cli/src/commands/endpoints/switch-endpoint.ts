import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { parseId } from '../../input/parse-flags';
import type { Webhook } from '../../resources';
import { addExample } from '../example';

export function addSwitchEndpoint(endpoints: Command, cli: Cli): void {
  const disable = endpoints
    .command('disable')
    .description('Hold its deliveries from now on. None is lost.')
    .argument('<id>', 'its id or uid', parseId)
    .action(async (id: string) => {
      const client = await connect(cli);
      printSwitched(await client.POST('/v1/webhooks/{id}/disable', { params: { path: { id } } }), cli);
    });
  addExample(disable, 'hookferry endpoints disable crm');
  const enable = endpoints
    .command('enable')
    .description('Deliver again, and what was held as well.')
    .argument('<id>', 'its id or uid', parseId)
    .action(async (id: string) => {
      const client = await connect(cli);
      printSwitched(await client.POST('/v1/webhooks/{id}/enable', { params: { path: { id } } }), cli);
    });
  addExample(enable, 'hookferry endpoints enable crm');
}

function printSwitched(endpoint: Webhook, { output }: Cli): void {
  output.result(endpoint, `The endpoint ${endpoint.id} is ${endpoint.status}.`);
}
