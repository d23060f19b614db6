import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

export interface SchemathesisRun {
  readonly program: string;
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly knownIds: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** The same seed makes the same requests, but for the ids in them. */
  readonly seed: number;
  /** How many requests are made up for an operation, at most, beside those for each bound of its description. */
  readonly examples: number;
  /** Whether it also calls one operation after another, with what the one before has made. */
  readonly isStateful: boolean;
}

// Ours, in `checks.py`, stand for two of them. That a request without a key is refused, the unit tests of each route show.
const OFF = ['positive_data_acceptance', 'negative_data_rejection', 'ignored_auth'];

/** Lets Schemathesis loose on the API. Resolves with its exit code and with what it says, requests included. */
export async function runSchemathesis(run: SchemathesisRun): Promise<{ code: number; said: string }> {
  const phases = ['examples', 'coverage', 'fuzzing', ...(run.isStateful ? ['stateful'] : [])];
  const options = [
    [`--header=Authorization: Bearer ${run.apiKey}`, `--seed=${run.seed}`, `--max-examples=${run.examples}`],
    [`--phases=${phases.join(',')}`, '--checks=all', `--exclude-checks=${OFF.join(',')}`],
    // Each contradiction is told at once, and as it was found.
    ['--continue-on-failure', '--no-shrink', '--output-truncate=false', '--generation-database=none'],
    ['--suppress-health-check=all', '--warnings=off', '--no-color'],
  ].flat();
  // What it remembers of a run goes with the run: the next one is to depend on its seed alone.
  const folder = await mkdtemp(join(tmpdir(), 'schemathesis-'));
  const child = spawn(run.program, ['run', `${run.baseUrl}/openapi.json`, ...options], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      PYTHONDONTWRITEBYTECODE: '1',
      SCHEMATHESIS_HOOKS: join(__dirname, 'checks.py'),
      KNOWN_IDS: JSON.stringify(run.knownIds),
      OWN_KEY: run.apiKey.split('_')[1] ?? '',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [said, complaints, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  await rm(folder, { recursive: true });
  return { code: code ?? -1, said: said + complaints };
}
