import { isEndpointId } from '../endpoints/endpoint';
import { createResolveEndpoints } from '../endpoints/resolve-endpoints';
import { createReadEventJob, type ReadEventJob } from '../queue/read-event-job';
import { buildValidateEvent, type ValidateEventOptions } from './build-validate-event';

/** Reads jobs as a worker does, for which every id is one of an endpoint that is there. */
export function buildReadEventJob(options: ValidateEventOptions = { maxBytes: 1_024 }): ReadEventJob {
  return createReadEventJob({
    validateEvent: buildValidateEvent(options),
    resolveEndpoints: createResolveEndpoints({
      findIds: async (_accountId, refs) => refs.map((ref) => (isEndpointId(ref) ? ref : undefined)),
    }),
  });
}
