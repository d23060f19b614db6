import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { TEST_ENCRYPTION_KEY } from '@hookferry/core/testing/test-sealer';

const PROGRAM = join(__dirname, '..', '..', 'apps/admin/bin/hookferry-admin.js');

export interface CliResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command line as a process of its own. */
export function runCli(redisUrl: string, ...args: readonly string[]): Promise<CliResult> {
  return runCliWith({ REDIS_URL: redisUrl }, ...args);
}

/** @param settings that it finds in its environment. */
export function runCliWith(
  settings: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<CliResult> {
  return new Promise((resolve) => {
    const environment = {
      PATH: process.env.PATH ?? '',
      SECRETS_ENCRYPTION_KEY: TEST_ENCRYPTION_KEY,
      ...settings,
    };
    execFile(process.execPath, [PROGRAM, ...args], { env: environment }, (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}
