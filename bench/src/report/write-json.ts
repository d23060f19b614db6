import { writeFile } from 'node:fs/promises';

/** Writes figures for programs to read, if a file for them was named. */
export async function writeJson(file: string | undefined, figures: unknown): Promise<void> {
  if (file !== undefined) await writeFile(file, `${JSON.stringify(figures, undefined, 2)}\n`);
}
