import { answerWithin } from './timers';

/** A client's connection with a long-running response. */
export interface Connection {
  /** Aborts when either side closes it. */
  readonly signal: AbortSignal;
  readonly close: () => void;
}

/**
 * `unauthenticated`: it was refused. `unverified`: it could not be checked for too long, for example because
 * Redis is away.
 */
export const recheckEnds = ['unauthenticated', 'unverified'] as const;
export type RecheckEnd = (typeof recheckEnds)[number];

export interface RecheckOptions {
  /** Whether it would still be let in. Throws while that can't be checked. */
  readonly isAllowed: () => Promise<boolean>;
  readonly onEnd: (why: RecheckEnd) => void;
}

// Refused: it ends three seconds later at most. Unanswered: five seconds after it was last allowed, two
// checks and a wait.
const CHECK_EVERY_MS = 2_000;
const PATIENCE_MS = 1_000;
// A reply that was lost with its connection says nothing about the key.
const UNANSWERED_IN_A_ROW = 2;

/** Checks repeatedly whether something that goes on is still allowed. Only a clear yes lets it go on. */
export class Recheck {
  #timer: NodeJS.Timeout | undefined;
  #unanswered = 0;

  constructor(private readonly options: RecheckOptions) {}

  start(): void {
    this.#timer ??= setInterval(() => void this.runOnce(), CHECK_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async runOnce(): Promise<void> {
    const { isAllowed, onEnd } = this.options;
    const answer = await answerWithin(PATIENCE_MS, isAllowed());
    this.#unanswered = answer === undefined ? this.#unanswered + 1 : 0;
    if (answer === false) onEnd('unauthenticated');
    if (this.#unanswered >= UNANSWERED_IN_A_ROW) onEnd('unverified');
  }
}
