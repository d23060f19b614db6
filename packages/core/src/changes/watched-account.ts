import type { Clock } from '../kernel/clock';
import type { AccountId } from '../model/event';
import { KNOWN_FOR_MS } from './change-feed';
import type { ChangeReader } from './change-reader';
import type { ChangeStore } from './redis-change-store';

export interface WatchedAccountOptions {
  readonly accountId: AccountId;
  readonly changeStore: Pick<ChangeStore, 'watch' | 'begin' | 'join' | 'keep' | 'readAfter'>;
  /** One that never jumps. */
  readonly clock: Clock;
}

/**
 * An account whose changes somebody follows at this process. Its changes are read once for all of its readers. From when it
 * begins to be watched until every process knows of that, changes may be missing, so readers are told nothing; it begins
 * anew whenever the place is gone that it had read to.
 */
export class WatchedAccount {
  readonly #readers = new Set<ChangeReader>();
  /** How far it has read; `undefined`: it is to begin. */
  #place: string | undefined;
  /** Whether what Redis has of it is not to be relied on. */
  #isToBegin = false;
  /** From when on every process knows. */
  #knownAt = 0;
  /** Those who were ready, and have missed something since. */
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

  /** Reads what is new, and tells it. To be called again and again, once the last one has ended. */
  async step(isRenewalDue: boolean): Promise<void> {
    if (isRenewalDue || this.#place === undefined) await this.#watch();
    if (this.#place !== undefined) await this.#readOn(this.#place);
    for (const reader of this.#readers) if (!reader.isReady) await this.#welcome(reader);
    this.#catchUp();
  }

  async #watch(): Promise<void> {
    const { accountId, changeStore, clock } = this.options;
    const wasWatched = await changeStore.watch(accountId);
    // Not by anybody: others did not write what has changed.
    this.#isToBegin ||= !wasWatched;
    if (this.#place !== undefined && !this.#isToBegin) return await changeStore.keep(accountId);
    this.#loseTrack();
    const place = this.#isToBegin ? await changeStore.begin(accountId) : await changeStore.join(accountId);
    this.#isToBegin = false;
    this.#place = place;
    this.#knownAt = clock() + KNOWN_FOR_MS;
  }

  async #readOn(place: string): Promise<void> {
    const entries = await this.options.changeStore.readAfter(this.options.accountId, place);
    if (entries === undefined) return this.#loseTrack();
    this.#place = entries.at(-1)?.id ?? place;
    for (const reader of this.#readers) {
      if (!reader.isReady || this.#behind.has(reader)) continue;
      for (const entry of entries) reader.offer(entry);
    }
  }

  #loseTrack(): void {
    this.#place = undefined;
    for (const reader of this.#readers) if (reader.isReady) this.#behind.add(reader);
  }

  /** Who comes back goes on at once if all is there that came meanwhile. */
  async #welcome(reader: ChangeReader): Promise<void> {
    const place = this.#place;
    if (place === undefined) return;
    const { accountId, changeStore, clock } = this.options;
    const { after } = reader;
    const missed = after === undefined ? undefined : await changeStore.readAfter(accountId, after);
    if (after !== undefined && missed !== undefined) {
      reader.begin(after);
      for (const entry of missed) reader.offer(entry);
      return;
    }
    if (clock() < this.#knownAt) return;
    reader.begin(place);
    if (after !== undefined) reader.reset(place);
  }

  #catchUp(): void {
    if (this.#place === undefined || this.options.clock() < this.#knownAt) return;
    for (const reader of this.#behind) reader.reset(this.#place);
    this.#behind.clear();
  }
}
