import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { parseId } from '../../input/parse-flags';
import { addExample } from '../example';

interface TestFlags {
  readonly type?: string;
}

export function addTestEndpoint(webhooks: Command, cli: Cli): void {
  const test = webhooks
    .command('test')
    .description('Send an example event to this webhook alone.')
    .argument('<id>', 'its id or uid', parseId)
    .option('--type <type>', 'the event type (default: the first one that it gets)')
    .action((id: string, flags: TestFlags) => testEndpoint(id, flags, cli));
  addExample(test, 'hookferry webhooks test crm --type order.created');
}

async function testEndpoint(id: string, { type }: TestFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const sent = await client.POST('/v1/webhooks/{id}/test', {
    params: { path: { id } },
    body: type === undefined ? {} : { event_type: type },
  });
  cli.output.result(sent, `Sent the event ${sent.event_id}.`);
  cli.output.note(`See its delivery: hookferry deliveries show ${sent.delivery_id}`);
}
