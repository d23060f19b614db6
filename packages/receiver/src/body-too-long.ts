/** A body of more bytes than are taken. */
export class BodyTooLong extends Error {
  override readonly name = 'BodyTooLong';

  constructor(readonly maxBytes: number) {
    super(`The body is longer than ${maxBytes} bytes: raise maxBytes if this is meant to come.`);
  }
}
