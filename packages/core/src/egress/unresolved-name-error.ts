/** A name's addresses could not be found. */
export class UnresolvedNameError extends Error {
  override readonly name = 'UnresolvedNameError';
  /**
   * One of our own: what resolvers give may look like another failure, such as ECONNREFUSED when it was the name
   * server that refused.
   */
  readonly code = 'ERR_UNRESOLVED_NAME';

  /** @param why the resolver's code, such as ENOTFOUND. */
  constructor(name: string, why: string, cause?: unknown) {
    super(`${name} could not be resolved (${why}).`, { cause });
  }
}
