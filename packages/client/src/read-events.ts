import { WebhooksConnectionError } from './connection-error';
import { type Deadline, withDeadline } from './deadline';
import { readLines } from './read-lines';
import { parseJson, unexpectedResponse } from './read-response';

/** A server-sent event of this service, whose data are one line of JSON. */
export interface ReadEvent {
  readonly event: string;
  /** The place after which to continue. */
  readonly id?: string;
  readonly data: unknown;
}

/**
 * The server-sent events of a response, as they arrive. The line of its data is the last of an event. The deadline is for
 * each piece of the response, comments included.
 *
 * @throws WebhooksConnectionError
 */
export async function* readEvents(
  response: Response,
  deadline: Deadline,
): AsyncGenerator<ReadEvent, void, undefined> {
  const reader = response.body?.getReader();
  if (!reader) return;
  let fields: Record<string, string> = {};
  try {
    for await (const line of readLines(
      async () => (await withDeadline(deadline, () => reader.read())).value,
    )) {
      const { name, value } = fieldIn(line);
      fields[name] = value;
      if (name !== 'data') continue;
      yield eventOf(fields, response, deadline);
      fields = {};
    }
  } finally {
    // The caller stopped early, or the connection broke: nobody waits for the rest.
    reader.cancel().catch(() => undefined);
  }
}

/** `name: value`; a comment has no name. */
function fieldIn(line: string): { readonly name: string; readonly value: string } {
  const [name = ''] = line.split(':', 1);
  return { name, value: line.slice(name.length + 1).trim() };
}

function eventOf(
  { event = 'message', id, data = '' }: Readonly<Record<string, string>>,
  response: Response,
  { request }: Deadline,
): ReadEvent {
  const parsed = parseJson(data);
  if (parsed === undefined) throw unexpectedResponse(request, response);
  return { event, ...(id === undefined ? {} : { id }), data: parsed };
}

/** The response ended unexpectedly. */
export function endedEarly({ request }: Pick<Deadline, 'request'>): WebhooksConnectionError {
  return new WebhooksConnectionError('connection_failed', `${request}: the stream has ended`, undefined);
}
