import type { Command } from 'commander';
import { type Cli, connect } from '../cli';
import { parseList } from '../input/parse-flags';
import { parseDuration } from '../input/parse-time';
import type { Capability } from '../resources';
import { addExample } from './example';

const CAPABILITIES = 'read, webhooks, redeliver, schedule, publish, transform, secrets, audit, operate';
const MS_PER_SECOND = 1_000;

interface PortalFlags {
  readonly capabilities?: readonly string[];
  /** In milliseconds. */
  readonly expiresIn?: number;
}

export function addPortal(program: Command, cli: Cli): void {
  const portal = program
    .command('portal')
    .description('Print a link that opens the portal in a browser, once.')
    .option(
      '--capabilities <list>',
      `what the session may do, separated by commas: ${CAPABILITIES} (default: read,webhooks,redeliver)`,
      parseList,
    )
    .option('--expires-in <duration>', 'when the session ends, such as 15m (default: 1h)', parseDuration)
    .action((flags: PortalFlags) => makeLink(flags, cli));
  addExample(
    portal,
    'hookferry portal',
    'hookferry portal --account acme --capabilities read,redeliver --expires-in 15m',
  );
}

async function makeLink({ capabilities, expiresIn }: PortalFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  const body = {
    // Which capabilities there are, and for how long, is for the API to say.
    ...(capabilities === undefined ? {} : { capabilities: [...capabilities] as Capability[] }),
    ...(expiresIn === undefined ? {} : { expires_in_seconds: Math.round(expiresIn / MS_PER_SECOND) }),
  };
  const session = await client.POST('/v1/portal-sessions', { body });
  cli.output.result(session, session.url);
  cli.output.note(`The link works once, within ten minutes. The session ends at ${session.expires_at}.`);
}
