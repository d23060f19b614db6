/** A body with more bytes than `maxBytes`. */
export class BodyTooLong extends Error {
  override readonly name = 'BodyTooLong';

  constructor(readonly maxBytes: number) {
    super(`The body is longer than ${maxBytes} bytes. If such bodies are expected, raise maxBytes.`);
  }
}
