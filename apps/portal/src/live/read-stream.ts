import { readEvents, type StreamEvent } from './read-events';

// The service says something every 15 s; a connection that nobody has closed properly says nothing for ever.
const LONGEST_SILENCE_MS = 40_000;

/** The service responded, but with no stream. */
export class StreamRefused extends Error {
  override readonly name = 'StreamRefused';

  constructor(readonly status: number) {
    super(`The stream was refused: HTTP ${status}.`);
  }
}

interface StreamRequest {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/**
 * The events of one connection, until either side ends it.
 * @throws StreamRefused, and what `fetch` throws when the connection breaks or says nothing for too long
 */
export async function* readStream({
  address,
  headers,
  signal,
}: StreamRequest): AsyncGenerator<StreamEvent, void, undefined> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const onSignOfLife = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), LONGEST_SILENCE_MS);
  };
  onSignOfLife();
  try {
    const response = await fetch(address, { headers, signal: AbortSignal.any([signal, silence.signal]) });
    if (!response.ok || !response.body) throw new StreamRefused(response.status);
    yield* readEvents(response.body, onSignOfLife);
  } finally {
    clearTimeout(timer);
  }
}
