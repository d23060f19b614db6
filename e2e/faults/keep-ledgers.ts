import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ledger } from './ledger';

/** Writes each run's ledger into a file of this folder, for whoever wants to know what a finding came from. */
export function keepLedgers(folder: string): (ledger: Ledger) => Promise<void> {
  let count = 0;
  return async ({ published, acknowledged, ...rest }) => {
    await mkdir(folder, { recursive: true });
    count += 1;
    const ledger = { published: [...published.values()], acknowledged: [...acknowledged.values()], ...rest };
    await writeFile(join(folder, `run-${count}.json`), JSON.stringify(ledger));
  };
}
