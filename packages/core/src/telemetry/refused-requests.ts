import type { Signal, SignalListener, SignalNamed } from '../domain/signal';
import { isOutage } from '../domain/signals/requests';
import { AppError, type ErrorCode, messageOf } from '../platform/app-error';

const LINE_EVERY_MS = 1_000;
// Requests without a key are bounded by nothing but what the process can refuse: they would fill the disk, or push out older lines.
const MOST_KEYLESS_LINES = 50;

interface Counted {
  readonly first: SignalNamed<'request.failed'>;
  count: number;
}

/**
 * Passes signals on, but of the requests that fail because Redis or PostgreSQL is away only one line a second, with their number
 * and the first one's cause. They fail as fast as clients repeat them, all for the same reason. Of the others that are refused
 * without a valid key it passes on the first ones of each second, and the number of the rest.
 */
export class RefusedRequests {
  readonly #counted = new Map<ErrorCode, Counted>();
  readonly #leftOut = new Map<ErrorCode, number>();
  #keylessLines = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly pass: SignalListener) {}

  readonly listen: SignalListener = (signal) => {
    const code = signal.name === 'request.failed' ? outageOf(signal.error) : undefined;
    if (code !== undefined) return this.#count(code, signal as SignalNamed<'request.failed'>);
    const keylessCode = keylessRefusalOf(signal);
    if (keylessCode === undefined || this.#takeKeylessLine(keylessCode)) this.pass(signal);
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
    this.#writeSoon();
  }

  /** Gives whether there is room for it in this second. */
  #takeKeylessLine(code: ErrorCode): boolean {
    this.#writeSoon();
    this.#keylessLines += 1;
    if (this.#keylessLines <= MOST_KEYLESS_LINES) return true;
    this.#leftOut.set(code, (this.#leftOut.get(code) ?? 0) + 1);
    return false;
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => this.#write(), LINE_EVERY_MS).unref();
  }

  #write(): void {
    this.#timer = undefined;
    for (const [code, { first, count }] of this.#counted) {
      const { requestId, error } = first;
      this.pass({ name: 'requests.refused', code, count, requestId, detail: causesOf(error) });
    }
    this.#counted.clear();
    for (const [code, count] of this.#leftOut) this.pass({ name: 'requests.left_out', count, code });
    this.#leftOut.clear();
    this.#keylessLines = 0;
  }
}

function outageOf(error: unknown): ErrorCode | undefined {
  return error instanceof AppError && isOutage(error.code) ? error.code : undefined;
}

/** The code of a request that was refused before it had an account; not where the service itself was at fault. */
function keylessRefusalOf(signal: Signal): ErrorCode | undefined {
  if (signal.name !== 'request.completed' || signal.accountId !== undefined) return undefined;
  return signal.status >= 400 && signal.status < 500 ? signal.code : undefined;
}

/** Without the stacks: they are the same each time. */
function causesOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? messageOf(error) : `${messageOf(error)} ← ${causesOf(cause)}`;
}
