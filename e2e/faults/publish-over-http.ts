import type { OutgoingEvent } from './outgoing-event';

/** Long enough for any response of an API that lives: it responds within two seconds when Redis does not reply. */
const ANSWER_WITHIN_MS = 5_000;

export interface Target {
  readonly url: string;
  readonly apiKey: string;
}

/** The ids of what was acknowledged, in the order of the events; undefined if it may or may not have been accepted. */
export type Acknowledgement = readonly string[] | undefined;

export async function publishOne(target: Target, event: OutgoingEvent): Promise<Acknowledgement> {
  const response = await post<{ id: string }>(target, '/v1/events', withoutMarker(event));
  return response === undefined ? undefined : [response.id];
}

/** @param idempotencyKey lets the same batch be sent again although its events have no ids of ours. */
export async function publishBatch(
  target: Target,
  events: readonly OutgoingEvent[],
  idempotencyKey?: string,
): Promise<Acknowledgement> {
  const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
  const body = { events: events.map(withoutMarker) };
  const response = await post<{ data: { status_code: number; id?: string }[] }>(
    target,
    '/v1/events/batch',
    body,
    headers,
  );
  return response?.data.map(({ status_code: status, id }) => {
    if (id === undefined) throw new Error(`An event of a batch was refused with ${status}.`);
    return id;
  });
}

async function post<Body>(
  { url, apiKey }: Target,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Body | undefined> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  }).catch(() => undefined);
  const text = await response?.text().catch(() => undefined);
  if (response === undefined || text === undefined || response.status >= 500) return undefined;
  // A busy machine took too long to send it.
  if (response.status === 408) return undefined;
  // The same request is still being worked on.
  if (response.status === 409 && text.includes('request_in_progress')) return undefined;
  if (!response.ok) throw new Error(`POST ${path} gave ${response.status}: ${text}`);
  return JSON.parse(text) as Body;
}

function withoutMarker({ marker: _marker, ...event }: OutgoingEvent) {
  return event;
}
