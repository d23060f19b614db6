import { type ChildProcess, spawn } from 'node:child_process';

// It ends with its parent, however that ends: then the pipe that is its input is closed.
const WORK = `
  process.stdin.on('end', () => process.exit()).resume();
  const burn = () => {
    for (const until = performance.now() + 20; performance.now() < until; );
    setImmediate(burn);
  };
  burn();
`;

/** Each uses all the processor time that it gets, as somebody else on the same machine may, until it is killed. */
export function startBusyProcesses(count: number): readonly ChildProcess[] {
  return Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', WORK], { stdio: ['pipe', 'ignore', 'inherit'] }),
  );
}
