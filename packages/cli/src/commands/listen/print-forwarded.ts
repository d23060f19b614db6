import { paintStatus } from '../../output/colours';
import type { Output } from '../../output/output';
import { visible } from '../../output/visible';
import type { Forwarded, ForwardedRequest } from './forward';

/** A line for each delivery that was forwarded: what it was, and what came of it. */
export function printForwarded(output: Output, request: ForwardedRequest, forwarded: Forwarded): void {
  const { headers } = request;
  const eventId = headers['webhook-id'] ?? null;
  const attempt = Number(headers['x-service-attempt'] ?? 1);
  const type = typeOf(request.body);
  const outcome = outcomeOf(forwarded);
  const at = new Date().toISOString();
  const durationMs = Math.round(forwarded.durationMs);
  const status = forwarded.kind === 'answered' ? forwarded.status : null;
  const error = forwarded.kind === 'failed' ? forwarded.error : null;
  if (output.isJson) {
    const line = { at, event_id: eventId, type, attempt, outcome, status, duration_ms: durationMs, error };
    return output.write(`${JSON.stringify(line)}\n`);
  }
  const what = `${paintStatus(output.paint, outcome)}${status === null ? '' : ` ${status}`} in ${durationMs} ms`;
  const why = error === null ? '' : `  ${visible(error)}`;
  output.write(`${at}  ${what}  ${visible(type)}  attempt ${attempt} of ${visible(eventId ?? '-')}${why}\n`);
}

function outcomeOf(forwarded: Forwarded): string {
  if (forwarded.kind === 'failed') return forwarded.outcome;
  const hundreds = Math.floor(forwarded.status / 100);
  return hundreds === 2 ? 'delivered' : `http_${hundreds}xx`;
}

function typeOf(body: Uint8Array): string {
  try {
    const { type } = JSON.parse(Buffer.from(body).toString()) as { readonly type?: unknown };
    return String(type);
  } catch {
    return '-';
  }
}
