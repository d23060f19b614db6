import { readFile } from 'node:fs/promises';
import { UsageError } from '../failures/usage-error';
import type { Prompt } from './prompt';

const waysOf = (flag: string) => `Give JSON: ${flag} '{…}', ${flag} @FILE, or ${flag} - for stdin.`;

/** A JSON text as it was written, and what it says. */
export interface Data {
  readonly text: string;
  readonly value: unknown;
}

/** The value of a flag such as `--data`: the text itself, `@FILE`, or `-` for stdin. @throws UsageError if it is not JSON. */
export async function readData(given: string, prompt: Prompt, flag = '--data'): Promise<Data> {
  const text = await readText(given, prompt, flag);
  try {
    return { text, value: JSON.parse(text) };
  } catch (error) {
    throw new UsageError(`${flag} is not valid JSON: ${(error as Error).message}`, waysOf(flag));
  }
}

async function readText(given: string, prompt: Prompt, flag: string): Promise<string> {
  if (given === '-') return withoutMark(await prompt.readInput(`${flag} -`));
  if (!given.startsWith('@')) return given;
  const path = given.slice(1);
  try {
    return withoutMark(await readFile(path, 'utf8'));
  } catch (error) {
    throw new UsageError(`${path} can't be read: ${(error as Error).message}`, waysOf(flag));
  }
}

// Editors on Windows begin a file with it; JSON does not.
function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}
