import type { WebhookEvent } from './event';
import { ReceiverResponse } from './responses';

interface Refusal {
  readonly id: string;
  readonly response: ReceiverResponse;
}

/**
 * Handles the events of one request, one after the other. Returns one response for all, which names the events that failed.
 *
 * @param handle returns the response for one event, and never throws.
 */
export async function handleEach(
  events: readonly WebhookEvent[],
  handle: (event: WebhookEvent) => Promise<ReceiverResponse>,
  { inOrder = false }: { readonly inOrder?: boolean },
): Promise<ReceiverResponse> {
  const refusals: Refusal[] = [];
  for (const event of events) {
    const former = inOrder ? refusals[0] : undefined;
    const response = former?.response ?? (await handle(event));
    if (response.status > 299) refusals.push({ id: event.id ?? '', response });
  }
  if (refusals.length === 0) return new ReceiverResponse(204);
  return refusals.length < events.length
    ? failed(refusals)
    : refuseAll(refusals.map(({ response }) => response));
}

/** The other events are delivered. A single event of a batch cannot be aborted: `abort` counts as a failure. */
function failed(refusals: readonly Refusal[]): ReceiverResponse {
  const headers = {
    ...wishesOf(refusals.map(({ response }) => response)),
    'content-type': 'application/json',
  };
  return new ReceiverResponse(200, headers, JSON.stringify({ failed: refusals.map(({ id }) => id) }));
}

/** No event was handled: respond with an error status, so that the service treats the receiver as failing. */
function refuseAll(responses: readonly ReceiverResponse[]): ReceiverResponse {
  const [first = new ReceiverResponse(500)] = responses;
  const isSame = responses.every(({ status, headers }) => {
    return status === first.status && headers['webhook-delivery'] === first.headers['webhook-delivery'];
  });
  const headers = { ...(isSame ? first.headers : {}), ...wishesOf(responses) };
  return new ReceiverResponse(isSame ? first.status : 500, headers, isSame ? first.text : '');
}

/** The requests of single events that apply to the whole webhook: to disable it, and how long to wait. */
function wishesOf(responses: readonly ReceiverResponse[]): Record<string, string> {
  const disables = responses.some(({ headers }) => headers['webhook-delivery'] === 'disable');
  const seconds = Math.max(...responses.map(({ headers }) => Number(headers['retry-after'] ?? 0)));
  return {
    ...(disables ? { 'webhook-delivery': 'disable' } : {}),
    ...(seconds > 0 ? { 'retry-after': String(seconds) } : {}),
  };
}
