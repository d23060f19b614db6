import { setImmediate } from 'node:timers/promises';
import type { EventTypes } from '../accounts/event-types/event-types';
import type { EventTypeStore } from '../accounts/event-types/redis-event-type-store';
import type { AccountId } from '../domain/account';
import { dataOf, EVENT_ID_PREFIX, type EventId, type StoredEvent } from '../domain/event';
import { matchesType, requireKnownFilters } from '../endpoints/filters/event-filters';
import type { Explained, PayloadFilter } from '../endpoints/filters/payload-filter';
import { invalidRequest } from '../platform/app-error';
import { scanPage } from '../platform/batches';
import type { Clock } from '../platform/clock';
import type { CodeRunner } from '../transform/code-runner';
import {
  runTransformation,
  type TransformResult,
  type TransformSource,
} from '../transform/run-transformation';
import type { ListedEvent, ListMark } from './history-source';
import type { WholeHistory } from './whole-history';

/** The data to try a filter on. */
export type TrySource =
  | { readonly kind: 'data'; readonly data: unknown }
  /** The catalogue's example of a type. */
  | { readonly kind: 'example'; readonly type: string }
  | { readonly kind: 'event'; readonly id: EventId }
  | LastEvents;

/** The account's last events. */
export interface LastEvents {
  readonly kind: 'last';
  /** Only those that an endpoint with these filters would get. */
  readonly types?: readonly string[] | undefined;
  readonly most: number;
}

/** The result of a filter for one event. */
export interface Trial {
  readonly event?: { readonly id: EventId; readonly createdAt: number };
  readonly type?: string;
  /** `undefined`: its payload was erased. */
  readonly matches: boolean | undefined;
  /** Every condition. */
  readonly because: readonly Explained[];
  /** The conditions that keep it from passing. */
  readonly leftOutBy: readonly Explained[];
}

/** The event to try code on. */
export type TryTransformationSource =
  | { readonly kind: 'given'; readonly type: string; readonly data: unknown }
  /** The catalogue's example of a type. */
  | { readonly kind: 'example'; readonly type: string }
  | { readonly kind: 'event'; readonly id: EventId };

export interface TryTransformationInput {
  readonly code: string;
  readonly source: TryTransformationSource;
  /** Absent: the code belongs to none yet. */
  readonly endpoint?: TransformSource['endpoint'];
}

// Ends the search where hardly any of the last events matches the types, and where they are long.
const MOST_SCANNED = 300;
const MOST_CHARACTERS = 4 * 1024 * 1024;

export interface TrialsParts {
  readonly history: WholeHistory;
  readonly eventTypes: EventTypes;
  readonly eventTypeStore: EventTypeStore;
  readonly transformPool: CodeRunner;
  readonly clock: Clock;
}

/** What a filter or code would do with events of an account. Nothing is sent, and nothing changes. */
export class Trials {
  constructor(private readonly parts: TrialsParts) {}

  /**
   * Try a filter on data, or on stored events.
   *
   * @throws AppError `invalid_request` for an unknown event or type.
   */
  async runFilter(accountId: AccountId, filter: PayloadFilter, source: TrySource): Promise<readonly Trial[]> {
    switch (source.kind) {
      case 'data':
        return [tryOn(filter, source.data)];
      case 'example': {
        const { name: type, example } = await this.parts.eventTypes.readNamed(source.type, '/event_type');
        return [{ type, ...tryOn(filter, example) }];
      }
      case 'event':
        return [trialOf(filter, await this.#requireEvent(accountId, source.id))];
      case 'last':
        await requireKnownFilters(this.parts, source.types ?? []);
        return await this.#tryOnLast(accountId, filter, source);
    }
  }

  /**
   * Run code on an event, as for its first attempt.
   *
   * @throws AppError `invalid_request` for an unknown event or type, or an event whose payload was erased.
   */
  async runCode(
    accountId: AccountId,
    { code, source, endpoint }: TryTransformationInput,
  ): Promise<TransformResult> {
    const event = await this.#eventOf(accountId, source);
    return await runTransformation(this.parts, code, { event, endpoint, attempt: 1 });
  }

  /** @throws AppError `invalid_request`. */
  async #requireEvent(accountId: AccountId, id: EventId): Promise<StoredEvent> {
    const event = await this.parts.history.findEvent(accountId, id);
    if (event) return event;
    throw invalidRequest([{ pointer: '/event_id', detail: 'is not the id of an event of the account' }]);
  }

  // One after the other, so that only one is in memory at a time, and other work runs in between.
  async #tryOnLast(
    accountId: AccountId,
    filter: PayloadFilter,
    source: LastEvents,
  ): Promise<readonly Trial[]> {
    const trials: Trial[] = [];
    let characters = 0;
    for (const id of await this.#lastOf(accountId, source)) {
      const event = await this.parts.history.findEvent(accountId, id);
      // Its retention has just ended.
      if (event === undefined) continue;
      characters += event.body?.length ?? 0;
      if (characters > MOST_CHARACTERS && trials.length > 0) break;
      trials.push(trialOf(filter, event));
      await setImmediate();
    }
    return trials;
  }

  async #lastOf(accountId: AccountId, { types, most }: LastEvents): Promise<readonly EventId[]> {
    const { history } = this.parts;
    const { found } = await scanPage<ListedEvent, EventId, ListMark>({
      limit: most,
      before: undefined,
      mostScanned: MOST_SCANNED,
      readBatch: async (size, from) => {
        const {
          found: entries,
          nextCursor,
          isCutShort,
        } = await history.listEvents({ accountId }, size, from);
        return isCutShort ? { entries, nextCursor, endsPage: isCutShort } : { entries, nextCursor };
      },
      cursorOf: ({ id: eventId, createdAt }) => ({ eventId, createdAt }),
      show: async ({ id, type }) => (asksFor(types, type) ? id : undefined),
    });
    return found;
  }

  async #eventOf(accountId: AccountId, source: TryTransformationSource): Promise<TransformSource['event']> {
    const { clock } = this.parts;
    switch (source.kind) {
      case 'given':
        return madeUp(accountId, source.type, source.data, clock());
      case 'example': {
        const { name, example } = await this.parts.eventTypes.readNamed(source.type, '/event_type');
        return madeUp(accountId, name, example, clock());
      }
      case 'event': {
        const event = await this.#requireEvent(accountId, source.id);
        if (event.body !== undefined) return event;
        throw invalidRequest([{ pointer: '/event_id', detail: 'names an event whose payload was erased' }]);
      }
    }
  }
}

function asksFor(types: LastEvents['types'], type: string): boolean {
  return types === undefined || types.some((filter) => matchesType(filter, type));
}

function trialOf(filter: PayloadFilter, { id, type, acceptedAt, body }: StoredEvent): Trial {
  const known = { event: { id, createdAt: acceptedAt }, type };
  return body === undefined
    ? { ...known, matches: undefined, because: [], leftOutBy: [] }
    : { ...known, ...tryOn(filter, dataOf(body)) };
}

function tryOn(filter: PayloadFilter, data: unknown): Omit<Trial, 'event' | 'type'> {
  return {
    matches: filter.matches(data),
    because: filter.explain(data),
    leftOutBy: filter.explainFailure(data),
  };
}

function madeUp(
  accountId: AccountId,
  type: string,
  data: unknown,
  acceptedAt: number,
): TransformSource['event'] {
  const id = `${EVENT_ID_PREFIX}_example` as EventId;
  return { id, accountId, acceptedAt, body: JSON.stringify({ type, data }) };
}
