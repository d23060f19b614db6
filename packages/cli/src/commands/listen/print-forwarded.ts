import { verifyEvents } from '@hookferry/receiver';
import { paintStatus } from '../../output/colours';
import type { Output } from '../../output/output';
import { visible } from '../../output/visible';
import type { Forwarded, ForwardedRequest } from './forward';

interface ForwardedEvent {
  readonly id: string | null;
  readonly type: string;
}

/** A line for each forwarded event, with its result, in all formats. */
export async function printForwarded(
  output: Output,
  request: ForwardedRequest,
  forwarded: Forwarded,
  secret: string,
): Promise<void> {
  const { events, batchId } = await contentOf(request, secret);
  const attempt = Number(request.headers['x-service-attempt'] ?? 1);
  const failed = batchId === null ? undefined : failedIn(forwarded);
  const at = new Date().toISOString();
  const durationMs = Math.round(forwarded.durationMs);
  const status = forwarded.kind === 'responded' ? forwarded.status : null;
  const error = forwarded.kind === 'failed' ? forwarded.error : null;
  for (const { id, type } of events) {
    const outcome = failed?.has(id) ? 'rejected_in_batch' : outcomeOf(forwarded);
    if (output.isJson) {
      const what = { at, event_id: id, batch_id: batchId, type, attempt, outcome };
      output.write(`${JSON.stringify({ ...what, status, duration_ms: durationMs, error })}\n`);
      continue;
    }
    const what = `${paintStatus(output.paint, outcome)}${status === null ? '' : ` ${status}`} in ${durationMs} ms`;
    const which = `attempt ${attempt} of ${visible(id ?? '-')}${batchId === null ? '' : ` in ${visible(batchId)}`}`;
    const why = error === null ? '' : `  ${visible(error)}`;
    output.write(`${at}  ${what}  ${visible(type)}  ${which}${why}\n`);
  }
}

/** As receivers read it. A transformation may have made something else of the event: then only its id is known. */
async function contentOf({ headers, body }: ForwardedRequest, secret: string) {
  const requestId = headers['webhook-id'] ?? null;
  try {
    const { events, isBatch } = await verifyEvents({ headers, body, secret, binaryCloudEvents: true });
    const forwarded = events.map(({ id = null, type }): ForwardedEvent => ({ id, type }));
    return { events: forwarded, batchId: isBatch ? requestId : null };
  } catch {
    return { events: [{ id: requestId, type: '-' }], batchId: null };
  }
}

/** The events that the receiver did not take, where it took others. */
function failedIn(forwarded: Forwarded): ReadonlySet<unknown> | undefined {
  if (outcomeOf(forwarded) !== 'delivered' || forwarded.kind === 'failed') return undefined;
  try {
    const { failed } = JSON.parse(Buffer.from(forwarded.body).toString()) as { readonly failed?: unknown };
    return Array.isArray(failed) ? new Set(failed) : undefined;
  } catch {
    return undefined;
  }
}

function outcomeOf(forwarded: Forwarded): string {
  if (forwarded.kind === 'failed') return forwarded.outcome;
  const hundreds = Math.floor(forwarded.status / 100);
  return hundreds === 2 ? 'delivered' : `http_${hundreds}xx`;
}
