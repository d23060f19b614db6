import { WebhooksApiError } from '@hookferry/client';
import { type Cli, clientOf } from '../../cli';
import type { Profile } from '../../profiles/profiles';
import type { ListenerSettings } from './listening';

/** Prints the secret that a listener has, or will have. */
export async function printSecret(
  { listener: { name, secret } }: ListenerSettings,
  connection: Profile,
  cli: Cli,
): Promise<void> {
  const path = { id: `listener.${name}` };
  const known = await clientOf(connection, cli)
    .GET('/v1/webhooks/{id}/secret', { params: { path } })
    .catch(whenNotFound);
  const shown = known ?? { secret };
  cli.output.result(shown, shown.secret ?? '');
}

function whenNotFound(error: unknown): undefined {
  if (!(error instanceof WebhooksApiError && error.status === 404)) throw error;
}
