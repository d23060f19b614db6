import { z } from 'zod';
import { AppError } from '../errors/app-error';
import type { Clock } from '../runtime/clock';
import { catalogue } from './catalogue/index';
import { compileDataSchema } from './compile-data-schema';
import type { CustomEventType, EventTypeInput } from './custom-event-type';
import type { EventType } from './event-type';
import type { EventTypeStore } from './redis-event-type-store';

/** An event type as clients see it. */
export interface EventTypeView {
  readonly name: string;
  readonly description: string;
  /** Of `data`: JSON Schema 2020-12. */
  readonly schema: unknown;
  readonly example: unknown;
  readonly deprecated: boolean;
  readonly origin: 'built_in' | 'custom';
  /** Of a custom type: 1, and one more with each replacement. */
  readonly version?: number;
}

export interface EventTypesDeps {
  readonly eventTypeStore: Pick<EventTypeStore, 'find' | 'list' | 'replace'>;
  readonly clock: Clock;
}

const builtIn: readonly EventTypeView[] = catalogue.map(viewOfBuiltIn);

/** The catalogue of event types: those that are built in, and those that operators added. */
export function createEventTypes({ eventTypeStore, clock }: EventTypesDeps) {
  return {
    /** What is built in first, then by name. */
    async list(): Promise<readonly EventTypeView[]> {
      return [...builtIn, ...(await eventTypeStore.list()).map(viewOfCustom)];
    },

    /** @throws AppError `not_found`. */
    async read(name: string): Promise<EventTypeView> {
      const custom = await eventTypeStore.find(name);
      const found = builtIn.find((type) => type.name === name) ?? (custom && viewOfCustom(custom));
      if (!found) throw new AppError('not_found', `There is no event type "${name}".`);
      return found;
    },

    /**
     * Adds an event type, or replaces one that was added; in force at once, everywhere.
     *
     * @throws AppError `conflict` for one that is built in, `invalid_request` when its schema is none or its example
     *   is not as the schema asks.
     */
    async put(name: string, input: EventTypeInput): Promise<EventTypeView> {
      if (builtIn.some((type) => type.name === name)) {
        throw new AppError('conflict', `The event type "${name}" is built in and can't be replaced.`);
      }
      requireFittingExample(input);
      return viewOfCustom(await eventTypeStore.replace({ name, ...input, updatedAt: clock() }));
    },
  };
}

export type EventTypes = ReturnType<typeof createEventTypes>;

function requireFittingExample({ schema, example }: EventTypeInput): void {
  const faults = compileDataSchema(schema)(example);
  if (faults.length === 0) return;
  throw new AppError('invalid_request', 'The example is not as the schema asks: see "errors".', {
    faults: faults.map(({ pointer, detail }) => ({
      pointer: pointer.replace(/^\/data/, '/example'),
      detail,
    })),
  });
}

function viewOfBuiltIn({ name, description, data, example }: EventType): EventTypeView {
  return { name, description, schema: z.toJSONSchema(data), example, deprecated: false, origin: 'built_in' };
}

function viewOfCustom({
  name,
  description,
  schema,
  example,
  deprecated,
  version,
}: CustomEventType): EventTypeView {
  return { name, description, schema, example, deprecated, origin: 'custom', version };
}
