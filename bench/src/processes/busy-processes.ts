import { join } from 'node:path';
import { ChildProgram } from './child-program';

/** Runs beside so many processes that use all the processor time that they get. */
export async function besideBusyProcesses<T>(
  count: number,
  work: (busy: readonly { readonly pid: number }[]) => Promise<T>,
): Promise<T> {
  const script = join(__dirname, 'busy.js');
  const busy = await Promise.all(
    Array.from({ length: count }, () => ChildProgram.start<null, object>(script)),
  );
  try {
    return await work(busy);
  } finally {
    for (const each of busy) each.stop();
  }
}
