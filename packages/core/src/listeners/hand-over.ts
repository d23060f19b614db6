import type { EndpointId } from '../domain/endpoint';
import type { DeliveryRequest, SendResult, Transport } from '../domain/transport';
import { decodeMessage, encodeMessage, type ListenerMessage } from './listener-message';
import { SILENCE_MS } from './listener-stream';
import type { Holder, ListenerStore } from './redis-listener-store';
import type { RedisMailbox } from './redis-mailbox';

export interface HandOverParts {
  readonly listenerStore: ListenerStore;
  readonly mailbox: RedisMailbox;
  /** For requests without a time-out of their own. Milliseconds. */
  readonly timeoutMs: number;
  /** How much of a response's body is kept, unless the request asks for more. */
  readonly keptBytes: number;
}

type ListenerRequest = DeliveryRequest & { readonly listener: EndpointId };
type Settle = (result: SendResult) => void;

interface UnderWay {
  readonly settle: Settle;
  readonly mayBegin: DeliveryRequest['mayBegin'];
}

// For messages on their way.
const MARGIN_MS = 5_000;
const FIND_HOLDER_EVERY_MS = 2_000;

/**
 * Sends deliveries to listeners: hands each over to the process with the listener's connection, and waits for
 * the listener's response. If the listener has received nothing by the time-out, nothing was sent, and no
 * attempt is used.
 */
export class HandOver {
  readonly #underWay = new Map<string, UnderWay>();
  #count = 0;

  constructor(private readonly parts: HandOverParts) {
    parts.mailbox.deliverTo((text) => {
      const message = decodeMessage(text);
      if (message?.kind === 'result') this.#underWay.get(message.id)?.settle(message.result);
      if (message?.kind === 'may_begin') void this.#permit(message);
    });
  }

  readonly send: Transport = async (request, abortSignal) => {
    const { listener } = request;
    if (listener === undefined) throw new Error('This request is for a URL.');
    try {
      return await this.#handOver({ ...request, listener }, abortSignal);
    } catch (error) {
      return unsent(`It could not be handed over to the listener: ${String(error)}`);
    }
  };

  async #handOver(request: ListenerRequest, abortSignal: AbortSignal): Promise<SendResult> {
    const { listenerStore, mailbox, timeoutMs } = this.parts;
    const holder = await listenerStore.findHolder(request.listener);
    if (holder === undefined) return unsent('No listener is connected.');
    // Finding it may have taken long.
    if (request.mayBegin && !(await request.mayBegin(false))) return NOT_BEGUN;
    this.#count += 1;
    const id = `${mailbox.address}.${this.#count}`;
    const stopExpecting = mailbox.expect();
    const wholeMs = request.timeoutMs ?? timeoutMs;
    const patienceMs = 2 * wholeMs + SILENCE_MS + MARGIN_MS;
    const result = this.#resultOf(id, patienceMs, request.mayBegin, abortSignal);
    const timer = setInterval(
      () => void this.#giveUpIfGone(id, request.listener, holder),
      FIND_HOLDER_EVERY_MS,
    );
    try {
      await mailbox.post(holder.process, this.#messageOf(id, request, holder, wholeMs));
      return await result;
    } finally {
      clearInterval(timer);
      this.#underWay.get(id)?.settle(unsent('It could not be handed over.'));
      stopExpecting();
    }
  }

  // A process that was killed gives nothing back.
  async #giveUpIfGone(id: string, listener: EndpointId, { stream }: Holder): Promise<void> {
    const holder = await this.parts.listenerStore.findHolder(listener).catch(() => ({ stream }));
    if (holder?.stream !== stream) {
      this.#underWay.get(id)?.settle(unsent('The listener is not connected any more.'));
    }
  }

  /** It has waited for the listener. Of one that is not known any more, nobody waits for the result. */
  async #permit({
    id,
    endpointId,
    stream,
    askedBy,
  }: Extract<ListenerMessage, { kind: 'may_begin' }>): Promise<void> {
    const known = this.#underWay.get(id);
    try {
      const mayBegin = known !== undefined && ((await known.mayBegin?.(true)) ?? true);
      if (!mayBegin) known?.settle(NOT_BEGUN);
      const permit = { kind: 'permit', id, endpointId, stream, mayBegin } as const;
      await this.parts.mailbox.post(askedBy, encodeMessage(permit));
    } catch (error) {
      known?.settle(unsent(`Whether it might begin could not be found out: ${String(error)}`));
    }
  }

  #resultOf(
    id: string,
    patienceMs: number,
    mayBegin: DeliveryRequest['mayBegin'],
    abortSignal: AbortSignal,
  ): Promise<SendResult> {
    return new Promise((resolve) => {
      const settle: Settle = (result) => {
        clearTimeout(timer);
        abortSignal.removeEventListener('abort', onAbort);
        this.#underWay.delete(id);
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
        () => settle(unsent('The process that has the listener did not reply.')),
        patienceMs,
      );
      this.#underWay.set(id, { settle, mayBegin });
      abortSignal.addEventListener('abort', onAbort);
      if (abortSignal.aborted) onAbort();
    });
  }

  #messageOf(id: string, request: ListenerRequest, { stream }: Holder, wholeMs: number): string {
    const { mailbox, keptBytes } = this.parts;
    const { headers, body, listener: endpointId, responseBytes } = request;
    const replyTo = mailbox.address;
    const kept = responseBytes ?? keptBytes;
    return encodeMessage({
      kind: 'request',
      request: { id, replyTo, endpointId, stream, headers, body, timeoutMs: wholeMs, keptBytes: kept },
    });
  }
}

const NOT_BEGUN = unsent('The request might not begin any more.');

function unsent(error: string): SendResult {
  return { kind: 'unsent', error };
}
