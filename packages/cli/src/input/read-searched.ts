import { UsageError } from '../failures/usage-error';
import type { Prompt } from './prompt';
import { readData } from './read-data';

/** The JSON object that a list is searched for, as it was written. @throws UsageError if it is none. */
export async function readSearched(given: string, prompt: Prompt): Promise<string> {
  const { text, value } = await readData(given, prompt);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text.trim();
  throw new UsageError(
    'What --data looks for is no JSON object.',
    `Give one: --data '{"order":{"id":4711}}'. Data that contain it are found, whatever else they have.`,
  );
}
