/** A response to the service. Made by `responses`. */
export class ReceiverResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** For people who read the delivery: plain text, unless `headers` say otherwise. */
  readonly text: string;

  constructor(status: number, headers: Readonly<Record<string, string>> = {}, text = '') {
    this.status = status;
    this.headers = text === '' ? headers : { 'content-type': 'text/plain; charset=utf-8', ...headers };
    this.text = text;
  }
}

/** The responses that a handler can return instead of "handled". The event counts as not handled. */
export const responses = {
  /** Gives this event up: the service makes no further attempt. */
  abort: (): ReceiverResponse => new ReceiverResponse(422, { 'webhook-delivery': 'abort' }),
  /** Disables the webhook. This event and later ones are held until somebody enables it. */
  disable: (): ReceiverResponse => new ReceiverResponse(503, { 'webhook-delivery': 'disable' }),
  /**
   * Has the event sent again, after at least this time.
   *
   * @param seconds a whole number from 1. The service waits for 24 hours at most.
   * @throws RangeError if `seconds` is anything else.
   */
  retryAfter(seconds: number): ReceiverResponse {
    if (!Number.isInteger(seconds) || seconds < 1) {
      throw new RangeError(`retryAfter takes a whole number of seconds from 1, not ${seconds}.`);
    }
    return new ReceiverResponse(503, { 'retry-after': String(seconds) });
  },
};
