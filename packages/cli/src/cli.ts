import { type Client, type ClientOptions, createClient } from '@hookferry/client';
import type { Prompt } from './input/prompt';
import type { Interrupts } from './interrupts';
import type { Output } from './output/output';
import { chooseConnection } from './profiles/choose-connection';
import type { ProfileFile } from './profiles/profile-file';
import type { Profile } from './profiles/profiles';
import { PACKAGE_VERSION } from './version';

/** Flags that every command takes. */
export interface GlobalFlags {
  readonly profile?: string;
  readonly account?: string;
  readonly json?: boolean;
  readonly input: boolean;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** What commands work with. */
export interface Cli {
  readonly output: Output;
  readonly prompt: Prompt;
  readonly interrupts: Interrupts;
  readonly profileFile: ProfileFile;
  readonly environment: Environment;
  /** Known once the command line is read, which it is when a command runs. */
  readonly flags: () => GlobalFlags;
}

/** What a command may want to have otherwise. */
export type ClientExtras = Pick<ClientOptions, 'fetch' | 'retries'>;

/** A client of the API that the command is to talk to. @throws UsageError if it is not known which. */
export async function connect(cli: Cli, more: ClientExtras = {}): Promise<Client> {
  return clientOf(await readConnection(cli), cli, more);
}

export function clientOf({ url, key }: Profile, cli: Cli, more: ClientExtras = {}): Client {
  const { account } = cli.flags();
  return createClient({
    ...more,
    baseUrl: url,
    apiKey: key,
    userAgent: `hookferry-cli/${PACKAGE_VERSION}`,
    ...(account === undefined ? {} : { account }),
    onRetry: ({ delayMs }) =>
      cli.output.note(
        `The API did not respond, or refused for now. Trying again in ${(delayMs / 1_000).toFixed(1)} s…`,
      ),
  });
}

export async function readConnection({ flags, environment, profileFile, output }: Cli): Promise<Profile> {
  const flag = flags().profile;
  if (flag !== undefined && environment.HOOKFERRY_API_KEY) {
    output.note('HOOKFERRY_API_KEY is set, and is used instead of --profile.');
  }
  const isComplete = Boolean(environment.HOOKFERRY_URL && environment.HOOKFERRY_API_KEY);
  // Without a profile to look at, a file that is not right is no obstacle.
  const profiles = isComplete ? { current: '', byName: {} } : await profileFile.read();
  return chooseConnection({ flag, environment, profiles });
}
