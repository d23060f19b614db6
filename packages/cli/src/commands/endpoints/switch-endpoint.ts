import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { parseId } from '../../input/parse-flags';
import type { Webhook } from '../../resources';
import { addExample } from '../example';

export function addSwitchEndpoint(webhooks: Command, cli: Cli): void {
  const disable = webhooks
    .command('disable')
    .description('Disable a webhook: its deliveries are held, and none is lost.')
    .argument('<id>', 'its id or uid', parseId)
    .action(async (id: string) => {
      const client = await connect(cli);
      printSwitched(await client.POST('/v1/webhooks/{id}/disable', { params: { path: { id } } }), cli);
    });
  addExample(disable, 'hookferry webhooks disable crm');
  const enable = webhooks
    .command('enable')
    .description('Enable a webhook: its held deliveries are sent too.')
    .argument('<id>', 'its id or uid', parseId)
    .action(async (id: string) => {
      const client = await connect(cli);
      printSwitched(await client.POST('/v1/webhooks/{id}/enable', { params: { path: { id } } }), cli);
    });
  addExample(enable, 'hookferry webhooks enable crm');
}

function printSwitched(webhook: Webhook, { output }: Cli): void {
  output.result(webhook, `The webhook ${webhook.id} is ${webhook.status}.`);
}
