import { ConfigError } from '../kernel/environment';

/** Why a process did not start, for who started it: what to set otherwise, or where it broke. */
export function describeStartFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ConfigError) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  const advice = code === undefined ? undefined : ADVICE[code];
  return advice === undefined ? (error.stack ?? error.message) : `${error.message}: ${advice}`;
}

/** What can be wrong with where a process is to listen. */
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'the process may not have this port; choose one above 1023.',
  EADDRINUSE: 'another process has this port; choose another one.',
  EADDRNOTAVAIL: 'this machine does not have this address; choose another one.',
  ENOTFOUND: 'there is no such name; choose another one.',
};
