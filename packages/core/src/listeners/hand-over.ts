import type { DeliveryRequest, SendResult, Transport } from '../deliver/transport';
import type { EndpointId } from '../domain/endpoint';
import { decodeMessage, encodeMessage } from './listener-message';
import { SILENCE_MS } from './listener-stream';
import type { Holder, ListenerStore } from './redis-listener-store';
import type { RedisMailbox } from './redis-mailbox';

export interface HandOverDeps {
  readonly listenerStore: Pick<ListenerStore, 'findHolder'>;
  readonly mailbox: Pick<RedisMailbox, 'address' | 'expect' | 'post' | 'deliverTo'>;
  /** For requests that don't say their own. Milliseconds. */
  readonly timeoutMs: number;
  /** How much of an answer's body is kept. */
  readonly keptBytes: number;
}

type ListenerRequest = DeliveryRequest & { readonly listener: EndpointId };
type Settle = (result: SendResult) => void;

// For messages on their way.
const MARGIN_MS = 5_000;
const LOOK_EVERY_MS = 2_000;

/**
 * Sends deliveries to whoever listens for them: hands each over to the process that has the listener's connection, and waits
 * for what the listener says of it. As long as nobody has heard of it by then, nothing was sent, and no attempt is used.
 */
export function createHandOver({ listenerStore, mailbox, timeoutMs, keptBytes }: HandOverDeps): Transport {
  const underWay = new Map<string, Settle>();
  let count = 0;

  mailbox.deliverTo((text) => {
    const message = decodeMessage(text);
    if (message?.kind === 'result') underWay.get(message.id)?.(message.result);
  });

  async function handOver(request: ListenerRequest, signal: AbortSignal): Promise<SendResult> {
    const holder = await listenerStore.findHolder(request.listener);
    if (holder === undefined) return unsent('No listener is connected.');
    count += 1;
    return await exchange(`${mailbox.address}.${count}`, request, holder, signal);
  }

  async function exchange(
    id: string,
    request: ListenerRequest,
    holder: Holder,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const isOver = mailbox.expect();
    const wholeMs = request.timeoutMs ?? timeoutMs;
    const answer = answerTo(id, 2 * wholeMs + SILENCE_MS + MARGIN_MS, signal);
    const look = setInterval(() => void giveUpIfGone(id, request.listener, holder), LOOK_EVERY_MS);
    try {
      await mailbox.post(holder.process, messageOf(id, request, holder, wholeMs));
      return await answer;
    } finally {
      clearInterval(look);
      underWay.get(id)?.(unsent('It could not be handed over.'));
      isOver();
    }
  }

  // A process that was killed gives nothing back.
  async function giveUpIfGone(id: string, listener: EndpointId, { stream }: Holder): Promise<void> {
    const holder = await listenerStore.findHolder(listener).catch(() => ({ stream }));
    if (holder?.stream !== stream) underWay.get(id)?.(unsent('The listener is not connected any more.'));
  }

  function answerTo(id: string, patienceMs: number, signal: AbortSignal): Promise<SendResult> {
    return new Promise((resolve) => {
      const settle: Settle = (result) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', onAbort);
        underWay.delete(id);
        resolve(result);
      };
      const onAbort = () =>
        settle({
          kind: 'failed',
          reason: 'network_error',
          error: 'The attempt was interrupted.',
          timings: {},
        });
      const timer = setTimeout(
        () => settle(unsent('The process that has the listener did not answer.')),
        patienceMs,
      );
      underWay.set(id, settle);
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
    });
  }

  function messageOf(id: string, request: ListenerRequest, { stream }: Holder, wholeMs: number): string {
    const { headers, body, listener: endpointId } = request;
    const replyTo = mailbox.address;
    return encodeMessage({
      kind: 'request',
      request: { id, replyTo, endpointId, stream, headers, body, timeoutMs: wholeMs, keptBytes },
    });
  }

  return async (request, signal) => {
    const { listener } = request;
    if (listener === undefined) throw new Error('This request is for a URL.');
    try {
      return await handOver({ ...request, listener }, signal);
    } catch (error) {
      return unsent(`It could not be handed over to the listener: ${String(error)}`);
    }
  };
}

function unsent(error: string): SendResult {
  return { kind: 'unsent', error };
}
