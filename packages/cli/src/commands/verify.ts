import { readFile } from 'node:fs/promises';
import { verifySignature, WebhookVerificationError } from '@hookferry/receiver';
import type { Command } from 'commander';
import type { Cli } from '../cli';
import { CheckFailed } from '../failures/check-failed';
import { UsageError } from '../failures/usage-error';
import { parsePositive } from '../input/parse-flags';
import { parseRequest } from '../input/parse-request';
import { addExample } from './example';

const DEFAULT_TOLERANCE_SECONDS = 300;

interface VerifyFlags {
  readonly delivery: string;
  readonly secretStdin?: boolean;
  readonly tolerance: number;
  readonly anyAge?: boolean;
}

export function addVerify(program: Command, cli: Cli): void {
  const verify = program
    .command('verify')
    .description(
      'Check the signature of a request that was saved: header lines, an empty line, the raw body.',
    )
    .requiredOption('--delivery <file>', 'the request as it came: FILE or @FILE; stdin is for the secret')
    .option('--secret-stdin', "read the endpoint's secret from stdin instead of asking for it")
    .option('--tolerance <seconds>', 'how old it may be', parsePositive, DEFAULT_TOLERANCE_SECONDS)
    .option('--any-age', 'it may be as old as it likes')
    .action((flags: VerifyFlags) => verifyDelivery(flags, cli));
  addExample(
    verify,
    'hookferry endpoints secret crm | hookferry verify --delivery request.http --secret-stdin',
  );
}

async function verifyDelivery(flags: VerifyFlags, { output, prompt }: Cli): Promise<void> {
  const request = parseRequest(await read(flags.delivery));
  const secret = flags.secretStdin
    ? (await prompt.readInput('--secret-stdin')).trim()
    : await prompt.askHidden('Secret (not shown):', 'Pass the secret by stdin: --secret-stdin < FILE');
  const toleranceSeconds = flags.anyAge ? Number.MAX_SAFE_INTEGER : flags.tolerance;
  try {
    await verifySignature({ ...request, secret, toleranceSeconds });
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    const { code, message } = error;
    if (output.isJson) output.result({ is_genuine: false, code, detail: message }, '');
    throw new CheckFailed(`${code}: ${message}`);
  }
  output.result({ is_genuine: true }, 'Genuine: the signature fits the secret and the body.');
}

const WAYS = 'Name the saved request: --delivery FILE, or --delivery @FILE';

async function read(given: string): Promise<Buffer> {
  // Whoever is asked for the secret answers by stdin as well.
  if (given === '-')
    throw new UsageError('The request can not come by stdin, which is for the secret.', WAYS);
  const path = given.replace(/^@/, '');
  try {
    return await readFile(path);
  } catch (error) {
    throw new UsageError(`${path} can't be read: ${(error as Error).message}`, WAYS);
  }
}
