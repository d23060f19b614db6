import { compileDataSchema } from '../event-types/compile-data-schema';
import type { CustomEventType } from '../event-types/custom-event-type';
import { createValidateEvent, type ValidateEvent } from '../publish/accept-events';

export interface ValidateEventOptions {
  readonly maxBytes?: number;
  /** What an operator has added. */
  readonly eventTypes?: readonly Pick<CustomEventType, 'name' | 'schema'>[];
}

/** A check of events by the built-in types, and by those that are given. */
export function buildValidateEvent(options: ValidateEventOptions = {}): ValidateEvent {
  const { maxBytes = Number.POSITIVE_INFINITY, eventTypes = [] } = options;
  const compiled = eventTypes.map(({ name, schema }) => ({
    ...{ name, schema, check: compileDataSchema(schema) },
    ...{ description: 'A test.', example: null, deprecated: false, version: 1, updatedAt: 0 },
  }));
  return createValidateEvent({
    eventTypeStore: {
      find: async (wanted) => compiled.find(({ name }) => name === wanted),
      names: async () => compiled.map(({ name }) => name),
    },
    maxBytes,
  });
}
