import { spawn } from 'node:child_process';

// It ends by itself when the suite is killed.
const WORK = 'const suite = process.ppid; while (process.ppid === suite);';

/** Keep so many processes busy beside the suite, as on a machine that others use too. @returns a function that ends them. */
export function keepBusy(count: number): () => void {
  const processes = Array.from({ length: count }, () =>
    spawn(process.execPath, ['--eval', WORK], { stdio: 'ignore' }),
  );
  return () => {
    for (const one of processes) one.kill('SIGKILL');
  };
}
