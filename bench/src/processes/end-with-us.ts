import type { ChildProcess } from 'node:child_process';

const children = new Set<ChildProcess>();
let isListening = false;

/** Also when the benchmark breaks off, none of its processes stays behind. */
export function endWithUs(child: ChildProcess): void {
  if (!isListening) process.once('exit', endAll);
  isListening = true;
  children.add(child);
  child.once('exit', () => children.delete(child));
}

function endAll(): void {
  for (const child of children) child.kill('SIGKILL');
}
