import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MAIN = join(__dirname, 'dist', 'faults', 'main.js');

export interface SuiteReport {
  readonly seed: number;
  readonly rows: readonly {
    readonly fault: string;
    readonly runs: number;
    readonly acknowledged: number;
    readonly lost: number;
  }[];
  readonly findings: readonly {
    readonly check: string;
    readonly count: number;
    readonly examples: string[];
  }[];
  /** What it wrote for people. */
  readonly messages: string;
}

/**
 * Runs the built suite as its users do.
 *
 * @param withinMs ends one that hangs, so that it leaves no process behind.
 * @throws Error when it had to be ended, or has left no report.
 */
export async function runSuite(words: readonly string[], withinMs = 280_000): Promise<SuiteReport> {
  const folder = await mkdtemp(join(tmpdir(), 'webhooks-faults-report-'));
  const file = join(folder, 'report.json');
  // Not `ok`: what was found is a better message than an exit code.
  const { messages, isKilled } = await new Promise<{ messages: string; isKilled: boolean }>((resolve) => {
    const options = { timeout: withinMs };
    execFile(process.execPath, [MAIN, ...words, '--json', file], options, (error, _stdout, stderr) =>
      resolve({ messages: stderr, isKilled: error?.killed === true }),
    );
  });
  const report = await readFile(file, 'utf8').catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
  if (isKilled) throw new Error(`The suite did not end: ${messages.slice(-2_000)}`);
  if (report === undefined) throw new Error(`The suite broke off: ${messages.slice(-2_000)}`);
  return { ...(JSON.parse(report) as Omit<SuiteReport, 'messages'>), messages };
}
