import type { Command } from 'commander';
import { type Cli, connect } from '../../cli';
import { parseId } from '../../input/parse-flags';
import { parseDuration } from '../../input/parse-time';
import { addYes, type ConfirmFlags, requireYes } from '../confirm';
import { addExample } from '../example';

interface RotateFlags extends ConfirmFlags {
  /** In milliseconds. */
  readonly overlap?: number;
}

export function addEndpointSecrets(webhooks: Command, cli: Cli): void {
  const secret = webhooks
    .command('secret')
    .description('Print the present secret, and nothing else.')
    .argument('<id>', 'its id or uid', parseId)
    .action((id: string) => printSecret(id, cli));
  addExample(secret, 'hookferry webhooks secret crm > secret.txt');
  const rotate = webhooks
    .command('rotate-secret')
    .description('Create a new secret. The old one also signs for a while.')
    .argument('<id>', 'its id or uid', parseId)
    .option('--overlap <duration>', 'how long the old one also signs, 0s to 7d (default: 1d)', parseDuration)
    .action((id: string, flags: RotateFlags) => rotateSecret(id, flags, cli));
  addExample(addYes(rotate), 'hookferry webhooks rotate-secret crm --overlap 2h');
}

const NO_SECRET = 'It has none: it signs with a key pair alone. See hookferry signing-keys.';

async function printSecret(id: string, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const response = await client.GET('/v1/webhooks/{id}/secret', { params: { path: { id } } });
  cli.output.result(response, response.secret ?? NO_SECRET);
}

async function rotateSecret(id: string, flags: RotateFlags, cli: Cli): Promise<void> {
  await requireYes(
    cli,
    flags,
    `Create a new secret for ${id}? Its receiver needs it before the old one ends.`,
  );
  const client = await connect(cli);
  const response = await client.POST('/v1/webhooks/{id}/rotate-secret', {
    params: { path: { id } },
    body: flags.overlap === undefined ? {} : { overlap_seconds: Math.round(flags.overlap / 1_000) },
  });
  cli.output.result(response, response.secret ?? NO_SECRET);
  cli.output.note(`The previous secret also signs until ${response.previous_secret_expires_at}.`);
}
