import { nearestTo, shorten } from '@hookferry/producer/fault-words';
import { z } from 'zod';
import type { Act } from '../../domain/audit';
import { eventTypeNameSchema } from '../../domain/event';
import { AppError, invalidRequest } from '../../platform/app-error';
import type { Clock } from '../../platform/clock';
import { type EventType, operationalTypes } from './built-in';
import { compileDataSchema } from './compile-data-schema';
import type { CustomEventType, EventTypeInput } from './custom-event-type';
import type { EventTypeStore } from './redis-event-type-store';

/** An event type as clients see it. */
export const eventTypeViewSchema = z
  .object({
    name: z.string().describe('The name of the event type.'),
    description: z.string().describe('What has happened when such an event is published, for people.'),
    schema: z
      .union([z.boolean(), z.record(z.string(), z.unknown())])
      .describe('The schema of `data`: JSON Schema 2020-12.'),
    example: z.unknown().describe('An example of `data`, which matches the schema.'),
    deprecated: z
      .boolean()
      .describe('Whether new producers should not use the type. Its events are still accepted.'),
    origin: z
      .enum(['built_in', 'operational', 'custom'])
      .describe(
        '`built_in`: part of Hookferry. `operational`: part of Hookferry, and published by Hookferry alone. `custom`: added by the operator.',
      ),
    version: z
      .int()
      .nullable()
      .describe(
        'The version of a custom type: 1, and one more with each replacement that changes it. Null for all others.',
      ),
  })
  .meta({ id: 'EventType' });
export type EventTypeView = Readonly<z.infer<typeof eventTypeViewSchema>>;

const operationalViews = operationalTypes.map(viewOfBuiltIn);

export interface EventTypesParts {
  readonly eventTypeStore: EventTypeStore;
  readonly clock: Clock;
}

/** The catalogue: built-in types, and those that operators added. */
export class EventTypes {
  readonly #builtIn: readonly EventTypeView[];

  constructor(private readonly parts: EventTypesParts) {
    this.#builtIn = [...parts.eventTypeStore.publishable.map(viewOfBuiltIn), ...operationalViews];
  }

  /** Those that operators added first, by name; operational ones last. */
  async list(): Promise<readonly EventTypeView[]> {
    return [...(await this.parts.eventTypeStore.list()).map(viewOfCustom), ...this.#builtIn];
  }

  /** @throws AppError `not_found`. */
  async read(name: string): Promise<EventTypeView> {
    const found = this.#builtIn.find((type) => type.name === name);
    if (found) return found;
    const custom = await this.parts.eventTypeStore.find(name);
    if (!custom) throw new AppError('not_found', `There is no event type "${shorten(name)}".`);
    return viewOfCustom(custom);
  }

  /** The same for a type that a member of a request names. @throws AppError `invalid_request`, for that member. */
  async readNamed(name: string, pointer: string): Promise<EventTypeView> {
    try {
      return await this.read(name);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
      throw invalidRequest(
        [{ pointer, detail: 'is not a known event type; GET /v1/event-types lists them' }],
        error,
      );
    }
  }

  /**
   * Add an event type, or replace one that was added. In force at once, everywhere.
   *
   * @throws AppError `conflict` for a built-in one, `invalid_request` when its name or its schema is invalid or
   *   its example does not match the schema, `limit_reached` when there are too many.
   */
  async put(name: string, input: EventTypeInput, act?: Act): Promise<EventTypeView> {
    const { eventTypeStore, clock } = this.parts;
    if (this.#builtIn.some((type) => type.name === name)) {
      throw new AppError('conflict', `The event type "${name}" is built in and can't be replaced.`);
    }
    requireName(name);
    requireFittingExample(input);
    return viewOfCustom(await eventTypeStore.replace({ name, ...input, updatedAt: clock() }, act));
  }
}

function requireName(name: string): void {
  const { error } = eventTypeNameSchema.safeParse(name);
  if (!error) return;
  const validationErrors = error.issues.map(({ message }) => ({ pointer: '{name}', detail: message }));
  throw new AppError('invalid_request', 'The name of the event type is not valid: see "errors".', {
    validationErrors,
  });
}

function requireFittingExample({ schema, example }: EventTypeInput): void {
  const validationErrors = compileDataSchema(schema)(example);
  if (validationErrors.length === 0) return;
  throw new AppError('invalid_request', 'The example does not match the schema: see "errors".', {
    validationErrors: validationErrors.map(({ pointer, detail }) => ({
      pointer: pointer.replace(/^\/data/, '/example'),
      detail,
    })),
  });
}

function viewOfBuiltIn(eventType: EventType): EventTypeView {
  const { name, description, data, example, isOperational } = eventType;
  const origin = isOperational ? 'operational' : 'built_in';
  return {
    name,
    description,
    schema: z.toJSONSchema(data),
    example,
    deprecated: false,
    origin,
    version: null,
  };
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

/** For the text of an error, behind what is wrong with the name: the one that it most likely means. */
export function didYouMean(name: string, names: readonly string[]): string {
  const meant = nearestTo(name, names);
  return meant === undefined ? '' : ` (did you mean "${meant}"?)`;
}

const MOST_NAMED = 50;

/** Names of event types for the text of an error: no more than people read. */
export function listNames(names: readonly string[]): string {
  const named = names.slice(0, MOST_NAMED).join(', ');
  const others = names.length - MOST_NAMED;
  return others > 0 ? `${named} and ${others} more, which GET /v1/event-types lists` : named;
}
