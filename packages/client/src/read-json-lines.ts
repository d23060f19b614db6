import { WebhooksConnectionError } from './connection-error';
import { type Deadline, withDeadline } from './deadline';
import { readLines } from './read-lines';
import { parseJson, unexpectedResponse } from './read-response';

/**
 * The JSON texts of a response, one for each line, as they arrive. The deadline is for each piece, empty lines included.
 *
 * @throws WebhooksConnectionError, also when the response ended in the middle of a line
 */
export async function* readJsonLines<Line>(
  response: Response,
  deadline: Deadline,
): AsyncGenerator<Line, void, undefined> {
  const reader = response.body?.getReader();
  if (!reader) return;
  const lines = readLines(async () => (await withDeadline(deadline, () => reader.read())).value);
  try {
    for (let next = await lines.next(); ; next = await lines.next()) {
      if (next.done === true) return checkWhole(next.value, deadline);
      const line = parseJson(next.value);
      if (line === undefined) throw unexpectedResponse(deadline.request, response);
      yield line as Line;
    }
  } finally {
    // The caller stopped early, or the connection broke: nobody waits for the rest.
    reader.cancel().catch(() => undefined);
  }
}

/** Some proxies end a response regularly when the connection behind them breaks. */
function checkWhole(isWhole: boolean, { request }: Deadline): void {
  if (isWhole) return;
  throw new WebhooksConnectionError(
    'connection_failed',
    `${request}: the response ended in the middle of a line`,
    undefined,
  );
}
