/** The command line can't be understood; the message says which part of it. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
