import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { parseId } from '../../input/parse-flags';
import { addExample } from '../example';

export function addVerifyEndpoint(webhooks: Command, cli: Cli): void {
  const verify = webhooks
    .command('verify')
    .description("Ask the receiver again to prove that it wants the webhook's events.")
    .argument('<id>', 'its id or uid', parseId)
    .action((id: string) => verifyEndpoint(id, cli));
  addExample(verify, 'hookferry webhooks verify crm');
}

async function verifyEndpoint(id: string, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const asked = await client.POST('/v1/webhooks/{id}/verify', { params: { path: { id } } });
  cli.output.result(asked, `The receiver of ${asked.id} gets a request to verify.`);
  cli.output.note(`See the result: hookferry webhooks show ${asked.id}`);
}
