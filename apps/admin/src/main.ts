import { runCli } from './run-cli';

async function main(): Promise<void> {
  process.exitCode = await runCli(process.argv.slice(2), process.env, {
    out: (text) => void process.stdout.write(text),
    error: (text) => void process.stderr.write(text),
  });
}

void main();
