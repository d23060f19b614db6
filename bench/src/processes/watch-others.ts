import { cpuMsOf, machineCpuMs } from './process-figures';

/**
 * What others than these processes and this one take of the machine, in cores. What was measured beside much of that is
 * no figure to rely on.
 * @returns what it was on average since then
 */
export function watchOthers(processes: readonly { readonly pid: number }[]): () => number {
  const ours = [process, ...processes];
  const othersCpuMs = () => machineCpuMs() - ours.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0);
  const [cpuBefore, startedAt] = [othersCpuMs(), performance.now()];
  return () => (othersCpuMs() - cpuBefore) / (performance.now() - startedAt);
}
