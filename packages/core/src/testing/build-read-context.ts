import { compileDataSchema } from '../accounts/event-types/compile-data-schema';
import type { CustomEventType } from '../accounts/event-types/custom-event-type';
import { isEndpointId } from '../domain/endpoint';
import { systemClock } from '../platform/clock';
import type { ReadEventJobContext } from '../publish/read-event-job';

export interface ReadContextOptions extends Partial<Pick<ReadEventJobContext, 'maxEventBytes' | 'clock'>> {
  /** The types that an operator has added. */
  readonly eventTypes?: readonly Pick<CustomEventType, 'name' | 'schema'>[];
}

/** The context to read a worker's jobs, without Redis: every id belongs to an existing endpoint. */
export function buildReadContext({
  maxEventBytes = Number.POSITIVE_INFINITY,
  clock = systemClock,
  eventTypes = [],
}: ReadContextOptions = {}): ReadEventJobContext {
  const compiled = eventTypes.map(({ name, schema }) => ({
    ...{ name, schema, check: compileDataSchema(schema) },
    ...{ description: 'A test.', example: null, deprecated: false, version: 1, updatedAt: 0 },
  }));
  return {
    maxEventBytes,
    scheduleMaxMs: 30 * 86_400_000,
    clock,
    eventTypeStore: {
      find: async (wanted) => compiled.find(({ name }) => name === wanted),
      names: async () => compiled.map(({ name }) => name),
    },
    endpointStore: {
      findIds: async (_accountId, refs) => refs.map((ref) => (isEndpointId(ref) ? ref : undefined)),
    },
    quota: { requireRoomAsKnown: async () => {} },
  };
}
