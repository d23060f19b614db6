import { readFile } from 'node:fs/promises';
import { UsageError } from '../failures/usage-error';
import type { Prompt } from './prompt';

const WAYS = "Give JSON: --data '{…}', --data @FILE, or --data - for stdin.";

/** A JSON text as it was written, and what it says. */
export interface Data {
  readonly text: string;
  readonly value: unknown;
}

/** What `--data` names: the text itself, `@FILE`, or `-` for stdin. @throws UsageError if it is no JSON. */
export async function readData(given: string, prompt: Prompt): Promise<Data> {
  const text = await readText(given, prompt);
  try {
    return { text, value: JSON.parse(text) };
  } catch (error) {
    throw new UsageError(`The data are no JSON: ${(error as Error).message}`, WAYS);
  }
}

async function readText(given: string, prompt: Prompt): Promise<string> {
  if (given === '-') return withoutMark(await prompt.readInput('--data -'));
  if (!given.startsWith('@')) return given;
  const path = given.slice(1);
  try {
    return withoutMark(await readFile(path, 'utf8'));
  } catch (error) {
    throw new UsageError(`${path} can't be read: ${(error as Error).message}`, WAYS);
  }
}

// Editors on Windows begin a file with it; JSON does not.
function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}
