/** The command line, or a setting on this machine, is not as it must be. */
export class UsageError extends Error {
  override readonly name = 'UsageError';

  /** @param advice what to do about it, as a sentence. */
  constructor(
    message: string,
    readonly advice: string,
  ) {
    super(message);
  }
}
