import { setTimeout as wait } from 'node:timers/promises';
import { ERASED_LOG_START } from '../../domain/delivery-fact';
import type { MovedEvent } from '../../domain/moved-event';
import { settledWithin } from '../../platform/timers';
import type { FindErased } from '../database/pg-history-writer';
import { WRITTEN_WITHIN_MS } from '../database/pg-writing-lock';
import { ClaimResults } from './claim-results';
import {
  type DecidedEntry,
  decideMove,
  type EndedEntryRead,
  type EndedEvent,
  type MovingEvent,
  toMoved,
} from './decide-move';
import { forEachRow } from './for-each-row';
import { lapseMoved } from './lapse-moved';
import type { MoverParts } from './mover-parts';
import { readEnded } from './read-ended';

export interface BatchResult {
  /** How many deliveries, and events without any, have left Redis. */
  readonly moved: number;
  /** Whether more may wait. */
  readonly isFull: boolean;
}

export const BATCH = 2_000;
/** How long a claim lasts: longer than a batch takes. After it, other processes take over the entries of a process that died. */
const CLAIMED_FOR_MS = 30_000;
const INCOMPLETE_MS = 5_000;

// Checked each tenth of the time that finished deliveries stay, so that they move at most a tenth late.
const INTERVAL_SHARE = 10;
const SHORTEST_INTERVAL_MS = 50;
const LONGEST_INTERVAL_MS = 1_000;
const PATIENCE_MS = 1_000;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 15_000;
const STOP_PATIENCE_MS = 4_000;

/**
 * Moves what has ended to the history, batch by batch, for as long as the process runs. While Redis or
 * PostgreSQL is away it tries again at growing intervals, and deliveries are not affected.
 */
export class Mover {
  readonly #stop = new AbortController();
  readonly #intervalMs: number;
  #running: Promise<unknown> = Promise.resolve();
  /** With a long list, one batch is written while another one is read or removed. */
  #helping: Promise<void> | undefined;

  constructor(private readonly parts: MoverParts) {
    const share = parts.moveAfterMs / INTERVAL_SHARE;
    this.#intervalMs = Math.min(Math.max(share, SHORTEST_INTERVAL_MS), LONGEST_INTERVAL_MS);
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Another process takes over the entries that it could not move. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await settledWithin(STOP_PATIENCE_MS, Promise.all([this.#running, this.#helping]));
  }

  /**
   * Move some finished deliveries from Redis to the history, or none: read them, write them in one transaction, and then
   * let them lapse in Redis. This may break off anywhere. What was claimed comes again, and each step is harmless when repeated. What
   * changes meanwhile stays in Redis, and moves later.
   *
   * @param patienceMs how long it may wait, so that an idle process asks together with something else.
   * @throws an error when Redis or PostgreSQL is away. The entries come again as they were.
   */
  async runOnce(patienceMs = 0): Promise<BatchResult> {
    const { endedList, atomic, moveAfterMs, clock, emit } = this.parts;
    const startedAt = clock();
    const [claim] = await atomic(
      [endedList.claim(startedAt - moveAfterMs, BATCH, startedAt + CLAIMED_FOR_MS)],
      patienceMs,
    );
    const isFull = claim.entries.length === BATCH;
    if (claim.entries.length === 0) return { moved: 0, isFull };
    const claimResults = new ClaimResults(this.parts, claim);
    try {
      const findErased = await erasuresFromNowOn(this.parts);
      const read = await readEnded(this.parts, claim.entries, claimResults);
      const moving = await prepare(this.parts, read, claimResults);
      const writing = { beginBy: startedAt + WRITTEN_WITHIN_MS, findErased };
      const written = await write(this.parts, moving, writing, claimResults, isFull);
      await lapseMoved(this.parts, written, claimResults);
    } catch (error) {
      // If Redis is down, they are due again when the claim ends.
      await claimResults.giveBack().catch(() => {});
      throw error;
    }
    await claimResults.end();
    const { moved } = claimResults;
    if (moved > 0) emit({ name: 'history.moved', count: moved, durationMs: clock() - startedAt });
    return { moved, isFull };
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let failures = 0;
    let patienceMs = 0;
    while (!signal.aborted) {
      try {
        // While it is away, thousands of deliveries would be read for nothing at each try.
        if (failures > 0) await this.parts.historyWriter.ping();
        const { isFull } = await this.runOnce(patienceMs);
        failures = 0;
        // Waits for deliveries that move soon after their end.
        patienceMs = isFull || this.#intervalMs < LONGEST_INTERVAL_MS ? 0 : PATIENCE_MS;
        if (isFull) this.#helping ??= this.#help();
        else await this.#rest(this.#intervalMs);
      } catch (error) {
        this.parts.emit({ name: 'history.failed', error });
        await this.#rest(Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS));
        failures += 1;
      }
    }
  }

  async #help(): Promise<void> {
    try {
      while (!this.#stop.signal.aborted && (await this.runOnce()).isFull);
    } catch {
      // The other one finds out as well, and tells.
    } finally {
      this.#helping = undefined;
    }
  }

  async #rest(durationMs: number): Promise<void> {
    // It keeps no process from its end.
    await wait(durationMs, undefined, { signal: this.#stop.signal, ref: false }).catch(() => {});
  }
}

async function prepare(
  parts: MoverParts,
  events: readonly EndedEvent[],
  claimResults: ClaimResults,
): Promise<readonly MovingEvent[]> {
  const prepared: MovingEvent[] = [];
  for (const event of events) {
    const entries = decideAll(parts, event, claimResults);
    const deliveries = entries.flatMap(({ decision }) =>
      decision.kind === 'move' ? [decision.delivery] : [],
    );
    const isWritten = deliveries.length > 0 || entries.some(({ decision }) => decision.kind === 'move_event');
    if (!isWritten) {
      if (entries.length > 0) prepared.push({ ...event, entries });
      continue;
    }
    const moved = toMoved(event, parts, deliveries);
    if (moved) prepared.push({ ...event, entries, moved });
    else await refuseAll(entries, 'form', 'It is not in the form of an event.', claimResults);
  }
  return prepared;
}

/** Gives those that leave Redis. */
function decideAll(
  { clock }: MoverParts,
  event: EndedEvent,
  claimResults: ClaimResults,
): readonly DecidedEntry[] {
  const now = clock();
  return event.entries.flatMap((read) => {
    const decision = decideMove(event, read, now);
    if (decision.kind === 'incomplete') claimResults.later(read.entry, INCOMPLETE_MS);
    else if (decision.kind === 'open') claimResults.done(read.entry);
    else return [{ ...read, decision }];
    return [];
  });
}

/**
 * Look for what is erased while the batch is under way. An erasure counts itself when Redis has nothing of the payload any
 * more, and before it erases in the history.
 */
async function erasuresFromNowOn({ movedStore, atomic }: MoverParts): Promise<FindErased> {
  const before = await movedStore.erasures();
  return async (events) => {
    if ((await movedStore.erasures()) === before) return new Set();
    const areErased = await forEachRow(events, async ({ accountId, id: eventId }) => {
      const [isErased] = await atomic([movedStore.isErased({ accountId, eventId })]);
      return isErased;
    });
    return new Set(events.filter((event, i) => areErased[i] !== false && !wasReadErased(event)));
  };
}

function wasReadErased({ head, deliveries }: MovedEvent): boolean {
  return head.erasedAt !== undefined && deliveries.every(({ log }) => log.startsWith(ERASED_LOG_START));
}

interface Writing {
  readonly beginBy: number;
  readonly findErased: FindErased;
}

/** Gives those that are in the history now, or need not be. */
async function write(
  parts: MoverParts,
  events: readonly MovingEvent[],
  writing: Writing,
  claimResults: ClaimResults,
  isFull: boolean,
): Promise<readonly MovingEvent[]> {
  const all = events.flatMap(({ moved }) => moved ?? []);
  if (all.length === 0) return events;
  const results = await writeWhatCanBe(parts, all, writing);
  refuseTable(results, isFull);
  const why = new Map(results.refused.map((one) => [nameOf(one.event), one]));
  const isIn = new Set(results.written.map(nameOf));
  const written: MovingEvent[] = [];
  for (const event of events) {
    const name = event.moved && nameOf(event.moved);
    const reason = name && why.get(name);
    if (reason) await refuseAll(event.entries, reason.code, reason.reason, claimResults);
    // Of one that is not decided, nothing is said: it comes again.
    else if (name === undefined || isIn.has(name)) written.push(event);
  }
  return written;
}

interface WriteResults {
  readonly written: MovedEvent[];
  readonly refused: { readonly event: MovedEvent; readonly code: string; readonly reason: string }[];
}

// If the time is over in the middle, as when PostgreSQL is slow and refuses many, what was decided counts: the same
// batch would come to the same end again and again.
async function writeWhatCanBe(
  parts: MoverParts,
  events: readonly MovedEvent[],
  writing: Writing,
): Promise<WriteResults> {
  const results: WriteResults = { written: [], refused: [] };
  try {
    await writeByHalves(parts, events, writing, results);
  } catch (error) {
    if (results.written.length + results.refused.length === 0) throw error;
  }
  return results;
}

// Find an event that the history does not accept by halves, so that it holds up no other one.
async function writeByHalves(
  parts: MoverParts,
  events: readonly MovedEvent[],
  writing: Writing,
  { written, refused }: WriteResults,
): Promise<void> {
  const result = await parts.historyWriter.write(events, writing.beginBy, writing.findErased);
  const [event] = events;
  if (result.kind === 'written') {
    const { erased } = result;
    written.push(...(erased ? events.filter((each) => !erased.has(each)) : events));
  } else if (event && events.length === 1) {
    refused.push({ ...result, event });
  } else {
    const half = Math.ceil(events.length / 2);
    await writeByHalves(parts, events.slice(0, half), writing, { written, refused });
    await writeByHalves(parts, events.slice(half), writing, { written, refused });
  }
}

function nameOf({ accountId, id }: MovedEvent): string {
  return `${accountId}/${id}`;
}

// The cause is the table then, a constraint that was added for example: it would refuse all later ones too.
function refuseTable({ written, refused }: WriteResults, isFull: boolean): void {
  const [first] = refused;
  const isForOneReason = refused.every(({ code }) => code === first?.code);
  if (!first || !isFull || written.length > 0 || !isForOneReason) return;
  throw new Error(`The history refuses all ${refused.length} events (${first.reason}).`);
}

async function refuseAll(
  entries: readonly EndedEntryRead[],
  code: string,
  reason: string,
  claimResults: ClaimResults,
): Promise<void> {
  for (const { entry } of entries) await claimResults.refuse(entry, code, reason);
}
