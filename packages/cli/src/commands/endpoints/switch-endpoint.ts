import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { parseId } from '../../input/parse-flags';
import type { Webhook } from '../../resources';
import { addYes, type ConfirmFlags, requireYes } from '../confirm';
import { addExample } from '../example';

export function addSwitchEndpoint(webhooks: Command, cli: Cli): void {
  const disable = webhooks
    .command('disable')
    .description(
      'Disable a webhook: its deliveries are held, and none is lost, unless it has --while-disabled discard.',
    )
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
  const discard = addYes(
    webhooks
      .command('discard-held')
      .description(
        'End what a webhook holds now: it is not sent when the webhook is enabled. A replay can send it.',
      )
      .argument('<id>', 'its id or uid', parseId),
  ).action(async (id: string, flags: ConfirmFlags) => {
    const client = await connect(cli);
    await requireYes(cli, flags, `Discard what the webhook ${id} holds?`);
    const result = await client.POST('/v1/webhooks/{id}/discard-held', { params: { path: { id } } });
    const { discarded } = result;
    const what = discarded === 1 ? '1 held delivery is' : `${discarded} held deliveries are`;
    cli.output.result(result, `${what} being discarded.`);
  });
  addExample(discard, 'hookferry webhooks discard-held crm');
}

function printSwitched(webhook: Webhook, { output }: Cli): void {
  output.result(webhook, `The webhook ${webhook.id} is ${webhook.status}.`);
}
