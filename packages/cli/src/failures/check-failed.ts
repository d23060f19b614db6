/** Something was looked at and is not as it should be. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed';

  /** @param message empty if it was said already. */
  constructor(message = '') {
    super(message);
  }
}
