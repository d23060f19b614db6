import type { EventFault } from './check-event';

/**
 * - `invalid_event`: the event is not valid. Nothing was sent.
 * - `schema_unavailable`: the option `check` failed; see `cause`. Nothing was sent.
 * - `redis_unavailable`: Redis could not be reached in time. Nothing was sent.
 * - `outcome_unknown`: the event was sent, and no reply came in time. It may or may not be published. Publish it again with
 *   the error's `eventId`: both make one event.
 * - `redis_refused`: Redis refused the event, for lack of memory or of rights for example; see `cause`.
 * - `closed`: the publisher was closed before.
 */
export type PublishErrorCode =
  | 'invalid_event'
  | 'schema_unavailable'
  | 'redis_unavailable'
  | 'outcome_unknown'
  | 'redis_refused'
  | 'closed';

const MESSAGES: Readonly<Record<Exclude<PublishErrorCode, 'invalid_event'>, string>> = {
  schema_unavailable: 'The event could not be checked, and nothing was sent.',
  redis_unavailable:
    'Redis could not be reached in time, and nothing was sent. Publish the event again later.',
  outcome_unknown:
    "The event was sent, and Redis has not replied in time. Publish it again under this error's eventId.",
  redis_refused: 'Redis refused the event.',
  closed: 'The publisher is closed.',
};

/** Why an event was not published, or may not have been. */
export class PublishError extends Error {
  override readonly name = 'PublishError';
  /** What the option `check` found: each fault of an invalid event. */
  readonly errors: readonly EventFault[];

  constructor(
    readonly code: PublishErrorCode,
    message: string,
    /** The event's id: the given one, or a generated one. `undefined` if the event is not valid. */
    readonly eventId: string | undefined,
    cause?: unknown,
    errors: readonly EventFault[] = [],
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.errors = errors;
  }

  static of(code: keyof typeof MESSAGES, eventId: string, cause?: unknown): PublishError {
    const { message: why = '' } = (cause ?? {}) as Partial<Error>;
    return new PublishError(code, why === '' ? MESSAGES[code] : `${MESSAGES[code]} (${why})`, eventId, cause);
  }

  static invalid(faults: readonly EventFault[]): PublishError {
    const all = faults.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ');
    return new PublishError('invalid_event', `The event is not valid: ${all}.`, undefined, undefined, faults);
  }
}
