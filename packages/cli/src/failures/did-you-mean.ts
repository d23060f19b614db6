import { WebhooksApiError } from '@hookferry/client';
import { nearestTo } from '@hookferry/producer/fault-words';
import { type Command, CommanderError } from 'commander';
import { type Cli, connect } from '../cli';

const MOST_WEBHOOKS = 1_000;

/**
 * The known name that a misspelt one most likely means, as a question. Unknown commands and flags have it in the message of the
 * command line's parser, and unknown event types in that of the API.
 *
 * @param command that the words name.
 */
export async function didYouMean(
  error: unknown,
  command: Command,
  args: readonly string[],
  cli: Cli,
): Promise<string | undefined> {
  const meant =
    error instanceof CommanderError
      ? findChoice(command, args)
      : error instanceof WebhooksApiError && isAboutWebhook(error)
        ? await findWebhook(command, cli)
        : undefined;
  return meant === undefined ? undefined : `Did you mean ${meant}?`;
}

/** Of a flag that takes some words only, such as a status. */
function findChoice({ options }: Command, args: readonly string[]): string | undefined {
  for (const { long, argChoices } of options) {
    if (!long || !argChoices) continue;
    const at = args.findIndex((arg) => arg === long || arg.startsWith(`${long}=`));
    const given = args[at]?.includes('=') ? args[at].slice(long.length + 1) : args[at + 1];
    if (at < 0 || given === undefined || argChoices.includes(given)) continue;
    return nearestTo(given, argChoices);
  }
  return undefined;
}

function isAboutWebhook({ code, errors }: WebhooksApiError): boolean {
  return code === 'not_found' || errors.some(({ pointer }) => pointer.startsWith('/webhook_id'));
}

/** By their uids: an id is copied, not typed. */
async function findWebhook(command: Command, cli: Cli): Promise<string | undefined> {
  const { webhook, to } = command.opts<{ webhook?: string; to?: readonly string[] }>();
  const given = [...command.args, ...(webhook === undefined ? [] : [webhook]), ...(to ?? [])];
  const uids = await listUids(cli);
  const meant = given.filter((name) => !uids.includes(name)).map((name) => nearestTo(name, uids));
  return meant.find((uid) => uid !== undefined);
}

/** None, if the key may not read them: the error that there was is the one to tell. */
async function listUids(cli: Cli): Promise<readonly string[]> {
  const uids: string[] = [];
  try {
    const client = await connect(cli, { retries: 0 });
    let seen = 0;
    for await (const { uid } of client.paginate('/v1/webhooks', { params: { query: { limit: 200 } } })) {
      if (uid !== null) uids.push(uid);
      seen += 1;
      if (seen >= MOST_WEBHOOKS) break;
    }
  } catch {
    return [];
  }
  return uids;
}
