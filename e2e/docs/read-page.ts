import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export async function readPage(name: string): Promise<string> {
  return await readFile(join(__dirname, '..', '..', 'docs', name), 'utf8');
}

/** What stands in the page's code blocks of a language, in order. */
export function blocksOf(page: string, language: string): string[] {
  const blocks = page.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)\n\`\`\`$`, 'gm'));
  return [...blocks].map(([, text = '']) => text);
}

/** Each block of commands that is followed by one of JSON: what they print. */
export function examplesOf(page: string): { commands: string; response: string }[] {
  const pairs = page.matchAll(/^```sh\n([^]*?)\n```\n\n```json\n([^]*?)\n```$/gm);
  return [...pairs].map(([, commands = '', response = '']) => ({ commands, response }));
}
