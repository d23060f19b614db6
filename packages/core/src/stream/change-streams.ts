import type { AccountId } from '../domain/account';
import type { Emit } from '../domain/signal';
import { AppError } from '../platform/app-error';
import { type Clock, steadyClock } from '../platform/clock';
import { type Connection, Recheck } from '../platform/recheck';
import { WakeUpTimer } from '../platform/timers';
import { KNOWN_FOR_MS } from './change-feed';
import { ChangeReader, type ChangeReaderOptions, type StreamMessage } from './change-reader';
import type { ChangeStore } from './redis-change-store';

export interface ChangeStreamsParts {
  readonly changeStore: ChangeStore;
  readonly emit: Emit;
}

export interface StreamOptions extends Omit<ChangeReaderOptions, 'onEnd'> {
  /** How long it may last. Milliseconds. */
  readonly maxMs: number;
  /** Whether the client may still follow. Asked every two seconds; throws while that cannot be checked. */
  readonly isAllowed: () => Promise<boolean>;
}

const READ_EVERY_MS = 200;
const AFTER_FAULT_MS = 1_000;
/** Several times before the account stops being watched. */
const RENEW_EVERY_MS = 20_000;
const RETRY_AFTER_MS = 5_000;
// A client that does not read has this long to read the end.
const LAST_WORD_MS = 1_000;
/** The most concurrent streams of a process; each may have a queue. */
const MOST_STREAMS = 500;

/** The followers of changes at this process. Without any, it sends Redis no commands. */
export class ChangeStreams {
  readonly #accounts = new Map<AccountId, WatchedAccount>();
  #count = 0;
  readonly #timer = new WakeUpTimer(() => this.#read());
  #renewedAt = 0;
  #isStopped = false;

  constructor(private readonly parts: ChangeStreamsParts) {}

  /**
   * All changes of an account's data, from `ready` until the end.
   *
   * @throws AppError `rate_limited` when this process has as many streams as it may, `storage_unavailable`
   *   when it stops.
   */
  async *open(
    accountId: AccountId,
    options: StreamOptions,
    { signal, close }: Connection,
  ): AsyncGenerator<StreamMessage, void> {
    const timers: NodeJS.Timeout[] = [];
    const onEnd = () => void timers.push(setTimeout(close, LAST_WORD_MS));
    const reader = this.#add(accountId, { ...options, onEnd });
    const recheck = new Recheck({ isAllowed: options.isAllowed, onEnd: (why) => reader.end(why) });
    recheck.start();
    timers.push(setTimeout(() => reader.end('time_limit'), options.maxMs));
    signal.addEventListener('abort', () => reader.end('lost'));
    if (signal.aborted) reader.end('lost');
    try {
      yield* reader.messages();
    } finally {
      recheck.stop();
      reader.end('lost');
      for (const timer of timers) clearTimeout(timer);
      this.#remove(accountId, reader);
    }
  }

  /** End all streams: readers connect again, to other processes. */
  stop(): void {
    this.#isStopped = true;
    void this.#timer.stop();
    for (const { readers } of this.#accounts.values()) for (const reader of readers) reader.end('stopping');
  }

  #add(accountId: AccountId, options: ChangeReaderOptions): ChangeReader {
    if (this.#isStopped) {
      throw new AppError('storage_unavailable', 'This process is stopping. Connect again.');
    }
    if (this.#count >= MOST_STREAMS) {
      throw new AppError('rate_limited', `This process has ${MOST_STREAMS} streams. Try again later.`, {
        retryAfterMs: RETRY_AFTER_MS,
      });
    }
    this.#count += 1;
    const account =
      this.#accounts.get(accountId) ??
      new WatchedAccount({ accountId, changeStore: this.parts.changeStore, clock: steadyClock });
    this.#accounts.set(accountId, account);
    const reader = new ChangeReader(options);
    account.add(reader);
    // A read that is just ending may have found no reader.
    this.#timer.wakeUpIn(this.#timer.isIdle ? 0 : READ_EVERY_MS);
    return reader;
  }

  #remove(accountId: AccountId, reader: ChangeReader): void {
    const { emit } = this.parts;
    this.#count -= 1;
    const account = this.#accounts.get(accountId);
    account?.remove(reader);
    if (account?.readers.size === 0) this.#accounts.delete(accountId);
    const { ended: reason } = reader;
    if (reason !== undefined && reason !== 'lost') emit({ name: 'change_stream.ended', accountId, reason });
  }

  async #read(): Promise<void> {
    const isRenewalDue = steadyClock() - this.#renewedAt >= RENEW_EVERY_MS;
    if (isRenewalDue) this.#renewedAt = steadyClock();
    const accounts = [...this.#accounts.values()];
    const steps = await Promise.allSettled(accounts.map((account) => account.step(isRenewalDue)));
    const failed = steps.find((step) => step.status === 'rejected');
    if (failed)
      this.parts.emit({ name: 'task.failed', task: 'read the stream of changes', error: failed.reason });
    if (this.#accounts.size > 0) this.#timer.wakeUpIn(failed ? AFTER_FAULT_MS : READ_EVERY_MS);
  }
}

export interface WatchedAccountOptions {
  readonly accountId: AccountId;
  readonly changeStore: ChangeStore;
  /** One that never jumps. */
  readonly clock: Clock;
}

/**
 * An account with followers at this process. Its changes are read once for all of its readers. From the
 * beginning until every process knows that it is watched, changes may be missing, so readers get nothing. It
 * begins again whenever its last cursor is gone.
 */
export class WatchedAccount {
  readonly #readers = new Set<ChangeReader>();
  /** The cursor of its last read; `undefined`: it has to begin. */
  #cursor: string | undefined;
  /** Whether Redis may lack some of its changes. */
  #isToBegin = false;
  /** From when on every process knows. */
  #knownAt = 0;
  /** Readers that were ready, and have missed changes since. */
  readonly #behind = new Set<ChangeReader>();

  constructor(private readonly options: WatchedAccountOptions) {}

  get readers(): ReadonlySet<ChangeReader> {
    return this.#readers;
  }

  add(reader: ChangeReader): void {
    this.#readers.add(reader);
  }

  remove(reader: ChangeReader): void {
    this.#readers.delete(reader);
    this.#behind.delete(reader);
  }

  /** Read new changes, and send them. Call it repeatedly, each time once the last call has ended. */
  async step(isRenewalDue: boolean): Promise<void> {
    if (isRenewalDue || this.#cursor === undefined) await this.#watch();
    if (this.#cursor !== undefined) await this.#readOn(this.#cursor);
    for (const reader of this.#readers) if (!reader.isReady) await this.#welcome(reader);
    this.#catchUp();
  }

  async #watch(): Promise<void> {
    const { accountId, changeStore, clock } = this.options;
    const wasWatched = await changeStore.watch(accountId);
    // The account was not watched: other processes did not write its changes.
    this.#isToBegin ||= !wasWatched;
    if (this.#cursor !== undefined && !this.#isToBegin) return await changeStore.keep(accountId);
    this.#loseTrack();
    const cursor = this.#isToBegin ? await changeStore.begin(accountId) : await changeStore.join(accountId);
    this.#isToBegin = false;
    this.#cursor = cursor;
    this.#knownAt = clock() + KNOWN_FOR_MS;
  }

  async #readOn(cursor: string): Promise<void> {
    const entries = await this.options.changeStore.readAfter(this.options.accountId, cursor);
    if (entries === undefined) return this.#loseTrack();
    this.#cursor = entries.at(-1)?.id ?? cursor;
    for (const reader of this.#readers) {
      if (!reader.isReady || this.#behind.has(reader)) continue;
      for (const entry of entries) reader.offer(entry);
    }
  }

  #loseTrack(): void {
    this.#cursor = undefined;
    for (const reader of this.#readers) if (reader.isReady) this.#behind.add(reader);
  }

  /** A returning reader resumes at once if all changes since its cursor are there. */
  async #welcome(reader: ChangeReader): Promise<void> {
    const cursor = this.#cursor;
    if (cursor === undefined) return;
    const { accountId, changeStore, clock } = this.options;
    const { after } = reader;
    const missed = after === undefined ? undefined : await changeStore.readAfter(accountId, after);
    if (after !== undefined && missed !== undefined) {
      reader.begin(after);
      for (const entry of missed) reader.offer(entry);
      return;
    }
    if (clock() < this.#knownAt) return;
    reader.begin(cursor);
    if (after !== undefined) reader.reset(cursor);
  }

  #catchUp(): void {
    if (this.#cursor === undefined || this.options.clock() < this.#knownAt) return;
    for (const reader of this.#behind) reader.reset(this.#cursor);
    this.#behind.clear();
  }
}
