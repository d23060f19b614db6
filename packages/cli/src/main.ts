import { EXIT_CODES } from './failures/exit-codes';
import { Interrupts } from './interrupts';
import { runCli } from './run-cli';

async function main(): Promise<void> {
  const interrupts = new Interrupts(() => process.exit(EXIT_CODES.interrupted));
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => interrupts.raise());
  process.stdout.on('error', endWithReader);
  const { env: environment, stdin, stdout, stderr } = process;
  process.exitCode = await runCli(process.argv.slice(2), { environment, stdin, stdout, stderr, interrupts });
}

// Whoever reads our output has seen enough, as `head` does.
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit(EXIT_CODES.ok);
}

void main();
