import { type Client, WebhooksApiError } from '@hookferry/client';
import type { Command } from 'commander';
import { type Cli, clientOf } from '../cli';
import { UsageError } from '../failures/usage-error';
import { chosenName } from '../profiles/choose-connection';
import { isOpenToOthers, parseUrl } from '../profiles/parse-url';
import { isKey, isProfileName, withProfile } from '../profiles/profiles';
import { addExample } from './example';

interface LoginFlags {
  readonly url: string;
  readonly keyStdin?: boolean;
}

// The errors of a response that did not come from the API, or came from another path of it.
const STRANGE = new Set<string>(['route_not_found', 'unexpected_response']);

export function addLogin(program: Command, cli: Cli): void {
  const login = program
    .command('login')
    .description('Save the URL of an API and a key for it, as a profile.')
    .requiredOption('--url <url>', 'where the API is')
    .option('--key-stdin', 'read the key from stdin instead of asking for it')
    .action((flags: LoginFlags) => logIn(flags, cli));
  addExample(
    login,
    'hookferry login --url https://webhooks.example.com',
    'hookferry login --profile ci --url https://webhooks.example.com --key-stdin < key.txt',
  );
}

async function logIn({ url: given, keyStdin }: LoginFlags, cli: Cli): Promise<void> {
  const { output, profileFile, environment } = cli;
  const url = parseUrl(given);
  const profiles = await profileFile.read();
  const name = chosenName({ flag: cli.flags().profile, environment, profiles });
  if (!isProfileName(name)) {
    throw new UsageError(`"${name}" is not a valid name of a profile.`, 'Use 1 to 64 of: A-Z a-z 0-9 _ -');
  }
  if (isOpenToOthers(url)) output.note('Warning: over http:, others can read the key on its way. Use https:');
  const profile = { url, key: await readKey(keyStdin === true, cli) };
  await checkKey(clientOf(profile, cli), url);
  await profileFile.write(withProfile(profiles, name, profile));
  output.result({ profile: name, url }, `Logged in to ${url}, as the profile "${name}".`);
  if (environment.HOOKFERRY_URL || environment.HOOKFERRY_API_KEY) {
    output.note('HOOKFERRY_URL or HOOKFERRY_API_KEY is set, and is used instead of profiles.');
  }
}

async function readKey(isPiped: boolean, { prompt }: Cli): Promise<string> {
  const key = isPiped
    ? (await prompt.readInput('--key-stdin')).trim()
    : await prompt.askHidden('API key (not shown):', 'Pass the key by stdin: --key-stdin < FILE');
  if (isKey(key)) return key;
  throw new UsageError('This is not a key.', 'A key is one word, such as whk_…; issue one with keys create.');
}

// Any key may ask for this.
async function checkKey(client: Client, url: string): Promise<void> {
  try {
    await client.GET('/v1/account/usage');
  } catch (error) {
    if (!(error instanceof WebhooksApiError) || !STRANGE.has(error.code)) throw error;
    const advice = 'Give the address of the API, without /v1 at its end.';
    throw new UsageError(`${url} does not respond as the API does (${error.status}).`, advice);
  }
}
