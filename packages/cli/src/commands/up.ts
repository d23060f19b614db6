import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Cli } from '../cli';
import { UsageError } from '../failures/usage-error';
import { addExample } from './example';

const PROGRAM = 'hookferry-server/bin/hookferry-server.js';

interface UpFlags {
  readonly port?: string;
  readonly data?: string;
}

export function addUp(program: Command, cli: Cli): void {
  const up = program
    .command('up')
    .description('Run the whole service on this machine, for trying: API, worker, portal and a Redis.')
    .option('--port <port>', 'where the API and the portal listen (default: 3000, or any if that is used)')
    .option('--data <folder>', 'its data and its keys (default: .hookferry)')
    .action((flags: UpFlags) => runServer(flags, cli));
  addExample(up, 'hookferry up --port 3100');
}

/** Resolves once it has ended. @throws UsageError if it is not installed, or has ended with an error. */
async function runServer({ port, data }: UpFlags, { interrupts }: Cli): Promise<void> {
  const flags = { '--port': port, '--data': data };
  const args = Object.entries(flags).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]));
  const server = spawn(process.execPath, [findServer(), ...args], { stdio: 'inherit' });
  const code = await interrupts.during(async (signal) => {
    // At a terminal it has had the Ctrl-C itself, and takes both for one.
    signal.addEventListener('abort', () => server.kill('SIGTERM'), { once: true });
    const [exitCode] = (await once(server, 'close')) as [number | null];
    return exitCode;
  });
  if (code !== 0) throw new UsageError('The service has ended with an error.', 'The reason is above.');
}

/** Beside this package, or in the project of the current folder. */
function findServer(): string {
  for (const folder of [__dirname, process.cwd()]) {
    try {
      return createRequire(join(folder, 'package.json')).resolve(PROGRAM);
    } catch {
      // It may be in the other one.
    }
  }
  throw new UsageError(
    'The package hookferry-server, which has the service in it, is not installed.',
    'Install its tarball beside this one, or, in a checkout of the service, run `npm start` there.',
  );
}
