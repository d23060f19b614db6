import { answerWithin } from '../kernel/within';
import type { Readings, ReadingsStore } from './redis-readings-store';

/** Reads the numbers of one metric, or of several that are told of together. */
export interface ReadingSource {
  read(): Promise<Readings>;
}

// A source that does not answer must not keep the others from being shown: it is given up before whoever asks gives up.
const PATIENCE_MS = 500;

/**
 * The numbers that are the same whoever reads them, read by one worker for all: whoever is asked for them first once the
 * last ones are no longer good. Nothing is read while nobody asks.
 */
export class SharedReadings {
  readonly #sources: readonly ReadingSource[];
  readonly #store: ReadingsStore;
  #underWay: Promise<Readings> | undefined;

  constructor(store: ReadingsStore, sources: readonly ReadingSource[]) {
    this.#store = store;
    this.#sources = sources;
  }

  /** Those who ask at the same time, as the gauges of a scrape do, share one answer. Empty if there are none. */
  async current(): Promise<Readings> {
    this.#underWay ??= this.#readInTurn().finally(() => {
      this.#underWay = undefined;
    });
    return await this.#underWay;
  }

  async #readInTurn(): Promise<Readings> {
    const { isOurs, latest } = await this.#store.takeTurn();
    if (!isOurs) return latest ?? [];
    const readings = await this.#readAll();
    await this.#store.save(readings);
    return readings;
  }

  async #readAll(): Promise<Readings> {
    const all = this.#sources.map(async ({ read }) => (await answerWithin(PATIENCE_MS, read())) ?? []);
    return (await Promise.all(all)).flat();
  }
}
