import { UsageError } from '../failures/usage-error';
import type { Prompt } from './prompt';
import { readData } from './read-data';

/** The JSON object that a list is searched for, as it was written. @throws UsageError if it is none. */
export async function readSearched(given: string, prompt: Prompt): Promise<string> {
  const { text, value } = await readData(given, prompt);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text.trim();
  throw new UsageError(
    '--data must be a JSON object.',
    `Such as: --data '{"order":{"id":4711}}'. It finds events whose data contain this object.`,
  );
}
