import { once } from 'node:events';
import { open } from 'node:fs/promises';
import type { ExportedAttempt, ExportQuery } from '@hookferry/client';
import type { Command } from 'commander';
import { type Cli, connect } from '../cli';
import { Interrupted } from '../failures/interrupted';
import { UsageError } from '../failures/usage-error';
import { parseId, parsePositive } from '../input/parse-flags';
import { parseTime } from '../input/parse-time';
import { addExample } from './example';

interface ExportFlags {
  readonly since?: string;
  readonly until?: string;
  readonly webhook?: string;
  readonly limit?: number;
  readonly cursor?: string;
  readonly output?: string;
}

type WriteLine = (line: string) => Promise<void>;

export function addExport(program: Command, cli: Cli): void {
  const command = program
    .command('export')
    .description('Print every recorded attempt, each as a line of JSON. Goes on after a broken connection.')
    .option(
      '--since <time>',
      'of events accepted at or after this time: a time, or how long ago (2h)',
      (text) => parseTime(text),
    )
    .option('--until <time>', 'of events accepted before this time', (text) => parseTime(text))
    .option('--webhook <id>', 'only those to this webhook: its id or uid', parseId)
    .option('--limit <n>', 'at most so many lines', parsePositive)
    .option('--cursor <cursor>', 'the cursor of a line, to go on after it')
    .option('-o, --output <file>', 'write into this new file instead of stdout')
    .action((flags: ExportFlags) => exportAttempts(flags, cli));
  addExample(command, 'hookferry export --since 1d -o attempts.ndjson');
}

async function exportAttempts(flags: ExportFlags, cli: Cli): Promise<void> {
  const client = await connect(cli);
  await cli.interrupts.during(async (signal) => {
    const attempts = client.exportDeliveries(queryOf(flags), { signal });
    const count =
      flags.output === undefined
        ? await writeLines(attempts, writerTo(cli.output.outStream), signal)
        : await writeFile(flags.output, attempts, signal);
    cli.output.note(`${count} attempts.`);
  });
}

function queryOf({ since, until, webhook, limit, cursor }: ExportFlags): ExportQuery {
  return {
    ...(since && { since }),
    ...(until && { until }),
    ...(webhook && { webhook_id: webhook }),
    ...(limit && { limit }),
    ...(cursor && { cursor }),
  };
}

async function writeFile(
  path: string,
  attempts: AsyncIterable<ExportedAttempt>,
  signal: AbortSignal,
): Promise<number> {
  const file = await openNew(path);
  try {
    return await writeLines(attempts, async (line) => void (await file.write(line)), signal);
  } finally {
    await file.close();
  }
}

async function writeLines(
  attempts: AsyncIterable<ExportedAttempt>,
  write: WriteLine,
  signal: AbortSignal,
): Promise<number> {
  let count = 0;
  try {
    for await (const attempt of attempts) {
      await write(`${JSON.stringify(attempt)}\n`);
      count += 1;
    }
  } catch (error) {
    throw signal.aborted ? new Interrupted() : error;
  }
  return count;
}

// No faster than it is written, so that unwritten lines do not fill the memory.
function writerTo(stream: NodeJS.WriteStream): WriteLine {
  return async (line) => {
    if (!stream.write(line)) await once(stream, 'drain');
  };
}

/** Only the owner may read the file, because it has responses of receivers. @throws UsageError. */
async function openNew(path: string) {
  try {
    return await open(path, 'wx', 0o600);
  } catch (error) {
    throw new UsageError(
      `${path} cannot be created: ${(error as Error).message}`,
      'Name a new file: -o FILE',
    );
  }
}
