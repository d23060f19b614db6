import { Answer } from './answers';
import type { WebhookEvent } from './event';

interface Refusal {
  readonly id: string;
  readonly answer: Answer;
}

/**
 * Handles the events of one request, one after the other. Returns one answer for all, which names the events that failed.
 *
 * @param handle returns the answer for one event, and never throws.
 */
export async function handleEach(
  events: readonly WebhookEvent[],
  handle: (event: WebhookEvent) => Promise<Answer>,
  { inOrder = false }: { readonly inOrder?: boolean },
): Promise<Answer> {
  const refusals: Refusal[] = [];
  for (const event of events) {
    const former = inOrder ? refusals[0] : undefined;
    const answer = former?.answer ?? (await handle(event));
    if (answer.status > 299) refusals.push({ id: event.id ?? '', answer });
  }
  if (refusals.length === 0) return new Answer(204);
  return refusals.length < events.length ? failed(refusals) : refuseAll(refusals.map(({ answer }) => answer));
}

/** The other events are delivered. A single event of a batch cannot be aborted: `abort` counts as a failure. */
function failed(refusals: readonly Refusal[]): Answer {
  const headers = { ...wishesOf(refusals.map(({ answer }) => answer)), 'content-type': 'application/json' };
  return new Answer(200, headers, JSON.stringify({ failed: refusals.map(({ id }) => id) }));
}

/** No event was handled: answer with an error status, so that the service treats the receiver as failing. */
function refuseAll(answers: readonly Answer[]): Answer {
  const [first = new Answer(500)] = answers;
  const isSame = answers.every(({ status, headers }) => {
    return status === first.status && headers['webhook-delivery'] === first.headers['webhook-delivery'];
  });
  const headers = { ...(isSame ? first.headers : {}), ...wishesOf(answers) };
  return new Answer(isSame ? first.status : 500, headers, isSame ? first.text : '');
}

/** The requests of single events that apply to the whole webhook: to disable it, and how long to wait. */
function wishesOf(answers: readonly Answer[]): Record<string, string> {
  const disables = answers.some(({ headers }) => headers['webhook-delivery'] === 'disable');
  const seconds = Math.max(...answers.map(({ headers }) => Number(headers['retry-after'] ?? 0)));
  return {
    ...(disables ? { 'webhook-delivery': 'disable' } : {}),
    ...(seconds > 0 ? { 'retry-after': String(seconds) } : {}),
  };
}
