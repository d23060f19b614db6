import { UsageError } from '../failures/usage-error';
import type { Prompt } from './prompt';
import { readData } from './read-data';

/** The JSON object, text or number that a list is searched for, as it was written. @throws UsageError if it is none. */
export async function readSearched(given: string, prompt: Prompt): Promise<string> {
  const { text, value } = await readData(given, prompt);
  if (typeof value === 'string' || typeof value === 'number') return text.trim();
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text.trim();
  throw new UsageError(
    '--data must be a JSON object, a number or a text in double quotes.',
    `Such as: --data '{"order":{"id":4711}}', or --data 4711 to find this value anywhere in the data.`,
  );
}
