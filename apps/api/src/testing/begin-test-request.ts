import { beginRequests } from '../http/request-state';

/** The first handler of an app of a test. All of its requests have the id `req_1`. */
export const beginTestRequest = beginRequests({
  drain: { isDraining: false },
  beginSpan: undefined,
  newId: (prefix) => `${prefix}_1`,
  clock: () => 0,
  emit: () => {},
});
