import { readFile } from 'node:fs/promises';
import { verifySignature, WebhookVerificationError } from '@hookferry/receiver';
import { jwks, publicKeys } from '@hookferry/receiver/public-keys';
import type { Command } from 'commander';
import type { Cli } from '../cli';
import { CheckFailed } from '../failures/check-failed';
import { UsageError } from '../failures/usage-error';
import { parsePositive } from '../input/parse-flags';
import { parseRequest } from '../input/parse-request';
import type { Prompt } from '../input/prompt';
import { addExample } from './example';

const DEFAULT_TOLERANCE_SECONDS = 300;

interface VerifyFlags {
  readonly delivery: string;
  readonly secretStdin?: boolean;
  readonly publicKey?: string;
  readonly jwks?: string;
  readonly tolerance: number;
  readonly anyAge?: boolean;
}

export function addVerify(program: Command, cli: Cli): void {
  const verify = program
    .command('verify')
    .description('Verify the signature of a saved request: header lines, an empty line, the raw body.')
    .requiredOption('--delivery <file>', 'the request: FILE or @FILE; stdin is for the secret')
    .option('--secret-stdin', "read the webhook's secret from stdin instead of asking for it")
    .option('--public-key <whpk>', 'verify with this public key of the webhook instead of its secret')
    .option('--jwks <url>', 'verify with the keys that are published at this URL (https:)')
    .option('--tolerance <seconds>', 'how old the request may be', parsePositive, DEFAULT_TOLERANCE_SECONDS)
    .option('--any-age', 'accept a request of any age')
    .action((flags: VerifyFlags) => verifyDelivery(flags, cli));
  addExample(
    verify,
    'hookferry webhooks secret crm | hookferry verify --delivery request.http --secret-stdin',
  );
}

async function verifyDelivery(flags: VerifyFlags, { output, prompt }: Cli): Promise<void> {
  const request = parseRequest(await read(flags.delivery));
  const toleranceSeconds = flags.anyAge ? Number.MAX_SAFE_INTEGER : flags.tolerance;
  const keys = keysOf(flags);
  try {
    const asked = keys ?? { secret: await askSecret(flags, prompt) };
    await verifySignature({ ...request, ...asked, toleranceSeconds });
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    const { code, message } = error;
    if (output.isJson) output.result({ is_genuine: false, code, detail: message }, '');
    throw new CheckFailed(`${code}: ${message}`);
  }
  output.result(
    { is_genuine: true },
    `Genuine: the signature fits the ${keys ? 'key' : 'secret'} and the body.`,
  );
}

function keysOf({ publicKey, jwks: url, secretStdin }: VerifyFlags) {
  const given = [publicKey, url, secretStdin].filter((one) => one !== undefined);
  if (given.length > 1)
    throw new UsageError(
      'There is more than one key to verify with.',
      'Pass one of --secret-stdin, --public-key and --jwks.',
    );
  try {
    if (publicKey !== undefined) return { keys: publicKeys(publicKey) };
    return url === undefined ? undefined : { keys: jwks(url) };
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    throw new UsageError('The key to verify with is not valid.', error.message);
  }
}

async function askSecret({ secretStdin }: VerifyFlags, prompt: Prompt): Promise<string> {
  if (secretStdin) return (await prompt.readInput('--secret-stdin')).trim();
  return await prompt.askHidden('Secret (not shown):', 'Pass the secret by stdin: --secret-stdin < FILE');
}

const WAYS = 'Name the saved request: --delivery FILE, or --delivery @FILE';

async function read(given: string): Promise<Buffer> {
  // The question for the secret also reads stdin.
  if (given === '-')
    throw new UsageError('The request cannot be read from stdin, which is for the secret.', WAYS);
  const path = given.replace(/^@/, '');
  try {
    return await readFile(path);
  } catch (error) {
    throw new UsageError(`${path} can't be read: ${(error as Error).message}`, WAYS);
  }
}
