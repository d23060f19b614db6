/** What to answer the service with. Made by `answers`. */
export class Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** For whoever looks at the delivery: plain text, unless `headers` say otherwise. */
  readonly text: string;

  constructor(status: number, headers: Readonly<Record<string, string>> = {}, text = '') {
    this.status = status;
    this.headers = text === '' ? headers : { 'content-type': 'text/plain; charset=utf-8', ...headers };
    this.text = text;
  }
}

/** What a handler can return to tell the service more than "handled". The event counts as not handled. */
export const answers = {
  /** Refuses this event for good: no further attempt. */
  abort: (): Answer => new Answer(422, { 'webhook-delivery': 'abort' }),
  /** Disables the webhook. This event and later ones are held until somebody enables it. */
  disable: (): Answer => new Answer(503, { 'webhook-delivery': 'disable' }),
  /**
   * Not now: the service tries again no sooner than that.
   *
   * @param seconds a whole number from 1; the service waits for 24 hours at most.
   * @throws RangeError for anything else.
   */
  retryAfter(seconds: number): Answer {
    if (!Number.isInteger(seconds) || seconds < 1) {
      throw new RangeError(`retryAfter takes a whole number of seconds from 1, not ${seconds}.`);
    }
    return new Answer(503, { 'retry-after': String(seconds) });
  },
};
