import type { AccountQuota } from '../accounts/account-quota';
import { publishableTypes } from '../accounts/event-types/built-in';
import { compileDataSchema } from '../accounts/event-types/compile-data-schema';
import type { CustomEventType } from '../accounts/event-types/custom-event-type';
import type { EventTypeStore } from '../accounts/event-types/redis-event-type-store';
import { isEndpointId } from '../domain/endpoint';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import { systemClock } from '../platform/clock';
import type { PublishingParts } from '../publish/publishing-parts';
import { fake } from './fake';
import { testRetention } from './test-retention';

export interface FakePublishingOptions extends Partial<Pick<PublishingParts, 'maxEventBytes' | 'clock'>> {
  /** The types that an operator has added. */
  readonly eventTypes?: readonly Pick<CustomEventType, 'name' | 'schema'>[];
}

/** The parts that check events, without Redis: every id belongs to an existing endpoint. */
export function fakePublishingParts({
  maxEventBytes = Number.POSITIVE_INFINITY,
  clock = systemClock,
  eventTypes = [],
}: FakePublishingOptions = {}): PublishingParts {
  const compiled = eventTypes.map(({ name, schema }) => ({
    ...{ name, schema, check: compileDataSchema(schema) },
    ...{ description: 'A test.', example: null, deprecated: false, version: 1, updatedAt: 0 },
  }));
  return fake<PublishingParts>({
    maxEventBytes,
    retention: testRetention,
    scheduleMaxMs: 30 * 86_400_000,
    clock,
    eventTypeStore: fake<EventTypeStore>({
      publishable: publishableTypes,
      find: async (wanted) => compiled.find(({ name }) => name === wanted),
      names: async () => compiled.map(({ name }) => name),
    }),
    endpointStore: fake<EndpointStore>({
      findIds: async (_accountId, refs) => refs.map((ref) => (isEndpointId(ref) ? ref : undefined)),
    }),
    quota: fake<AccountQuota>({ requireRoomAsKnown: async () => {} }),
  });
}
