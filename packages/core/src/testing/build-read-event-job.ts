import { isEndpointId } from '../domain/endpoint';
import { type Clock, systemClock } from '../platform/clock';
import { createReadEventJob, type ReadEventJob } from '../publish/read-event-job';
import { buildValidateEvent, type ValidateEventOptions } from './build-validate-event';

/** Reads jobs as a worker does, for which every id is one of an endpoint that is there. */
export function buildReadEventJob({
  clock = systemClock,
  ...options
}: ValidateEventOptions & { readonly clock?: Clock } = {}): ReadEventJob {
  return createReadEventJob({
    clock,
    requireRoom: async () => {},
    validateEvent: buildValidateEvent(options),
    endpointStore: {
      findIds: async (_accountId, refs) => refs.map((ref) => (isEndpointId(ref) ? ref : undefined)),
    },
  });
}
