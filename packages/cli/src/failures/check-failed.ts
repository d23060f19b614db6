/** A check came to a bad result, which has been printed already. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed';
}
