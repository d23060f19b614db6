import type { components } from '@hookferry/client';
import { ask } from '../api/ask';
import type { Api } from '../api/client';
import { ProblemError } from '../api/problem';

type Line = components['schemas']['ListenerLine'];

/** A request that the page's own webhook received. */
export interface ReceivedRequest {
  readonly at: Date;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface TestReceiverOptions {
  readonly api: Api;
  /** 1 to 63 of a-z 0-9 -: another one with this name takes over the deliveries. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly onReady: (webhookId: string) => void;
  readonly onRequest: (request: ReceivedRequest) => void;
}

// The service takes a listener for gone after three times this.
const SIGN_OF_LIFE_EVERY_MS = 5_000;
const PAUSE_MS = 1_000;

/**
 * Receives all events of the account in this page, until it is aborted: then the webhook is removed. Each request
 * gets 204. A connection that breaks is made again.
 * @throws ProblemError when the service does not allow it
 */
export async function receive(options: TestReceiverOptions): Promise<void> {
  const { api, name, signal } = options;
  let id: string | undefined;
  try {
    while (!signal.aborted) {
      try {
        ({ id } = await ask(api.POST('/v1/listeners', { body: { name, events: ['*'] }, signal })));
        await listenOnce(options, id);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ProblemError && !error.isPassing) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  } finally {
    // It would be asleep in a minute, and gone in a day.
    if (id !== undefined)
      await api.DELETE('/v1/webhooks/{id}', { params: { path: { id } } }).catch(() => undefined);
  }
}

async function listenOnce({ api, signal, onReady, onRequest }: TestReceiverOptions, id: string) {
  const params = { path: { id } };
  const body = await ask(api.GET('/v1/listeners/{id}/stream', { params, parseAs: 'stream', signal }));
  let stream = '';
  const respond = async (responses: readonly { readonly exchange: string; readonly status: number }[]) =>
    await ask(
      api.POST('/v1/listeners/{id}/responses', {
        params,
        body: { stream, responses: [...responses] },
        signal,
      }),
    );
  let timer: ReturnType<typeof setInterval> | undefined;
  try {
    for await (const line of linesOf(body)) {
      if (line.type === 'end') return;
      if (line.type === 'ready') {
        ({ stream = '' } = line);
        // A fault of it is one of the stream too, which ends then.
        timer = setInterval(() => void respond([]).catch(() => undefined), SIGN_OF_LIFE_EVERY_MS);
        onReady(id);
        continue;
      }
      onRequest({ at: new Date(), headers: line.headers ?? {}, body: textOf(line.body_base64 ?? '') });
      await respond([{ exchange: line.exchange ?? '', status: 204 }]);
    }
  } finally {
    clearInterval(timer);
  }
}

async function* linesOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Line, void, undefined> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') yield JSON.parse(line) as Line;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

const textOf = (base64: string) =>
  new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)));
