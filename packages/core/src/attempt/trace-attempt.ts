import type { AttemptSpan, BeginSpan } from '../model/trace';
import type { ReadyDelivery } from './load-delivery';

/**
 * For so long after its acceptance what is done for an event belongs to its trace. Retries go on for days, a delivery may be
 * held as long, and be requested once more weeks later. Whoever samples whole traces has decided on this one within
 * a minute or so, and a trace of days is found and drawn badly. So what comes later has a trace of its own, with links back.
 */
export const TRACE_OPEN_MS = 5 * 60_000;

/** Begins the span of an attempt. It is linked to the attempt before, and, where it has a trace of its own, to its event. */
export function traceAttempt(
  { event, endpoint, previousTrace }: Pick<ReadyDelivery, 'event' | 'endpoint' | 'previousTrace'>,
  beginSpan: BeginSpan,
  startedAt: number,
): AttemptSpan {
  const { trace, acceptedAt } = event;
  const before = previousTrace === undefined ? [] : [previousTrace];
  const url = withoutSecrets(endpoint.url);
  if (trace === undefined) return { ...beginSpan({ links: before, startedAt }), url };
  if (startedAt - acceptedAt < TRACE_OPEN_MS) {
    return { ...beginSpan({ parent: trace, links: before, startedAt }), url };
  }
  return { ...beginSpan({ links: [...before, trace], startedAt }), url };
}

function withoutSecrets(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
