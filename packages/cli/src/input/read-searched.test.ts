import { UsageError } from '../failures/usage-error';
import { Prompt } from './prompt';
import { readSearched } from './read-searched';

const prompt = new Prompt({ input: process.stdin, output: process.stderr, isAllowed: () => false });

it.each(['{"order":{"id":4711}}', '4711', ' 12345678901234567890 ', '"ada@example.com"'])(
  'searches for %s as it was written',
  async (given) => {
    expect(await readSearched(given, prompt)).toBe(given.trim());
  },
);

it.each(['[1]', 'true', 'null', 'ada@example.com'])('refuses %s', async (given) => {
  await expect(readSearched(given, prompt)).rejects.toThrow(UsageError);
});
