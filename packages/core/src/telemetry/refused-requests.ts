import type { SignalListener, SignalNamed } from '../domain/signal';
import { isOutage } from '../domain/signals/requests';
import { AppError, type ErrorCode, messageOf } from '../platform/app-error';

const LINE_EVERY_MS = 1_000;

interface Counted {
  readonly first: SignalNamed<'request.failed'>;
  count: number;
}

/**
 * Passes signals on, but of the requests that fail because Redis or PostgreSQL is away only one line a second, with their number
 * and the first one's cause. They fail as fast as clients repeat them, all for the same reason.
 */
export class RefusedRequests {
  readonly #counted = new Map<ErrorCode, Counted>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly pass: SignalListener) {}

  readonly listen: SignalListener = (signal) => {
    const code = signal.name === 'request.failed' ? outageOf(signal.error) : undefined;
    if (code === undefined) this.pass(signal);
    else this.#count(code, signal as SignalNamed<'request.failed'>);
  };

  /** Writes what was counted since the last line. */
  stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#write();
    return Promise.resolve();
  }

  #count(code: ErrorCode, first: SignalNamed<'request.failed'>): void {
    const counted = this.#counted.get(code);
    if (counted) counted.count += 1;
    else this.#counted.set(code, { first, count: 1 });
    this.#timer ??= setTimeout(() => this.#write(), LINE_EVERY_MS).unref();
  }

  #write(): void {
    this.#timer = undefined;
    for (const [code, { first, count }] of this.#counted) {
      const { requestId, error } = first;
      this.pass({ name: 'requests.refused', code, count, requestId, detail: causesOf(error) });
    }
    this.#counted.clear();
  }
}

function outageOf(error: unknown): ErrorCode | undefined {
  return error instanceof AppError && isOutage(error.code) ? error.code : undefined;
}

/** Without the stacks: they are the same each time. */
function causesOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : `${messageOf(error)} ← ${causesOf(cause)}`;
}
