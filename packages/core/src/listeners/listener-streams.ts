import { randomUUID } from 'node:crypto';
import type { EndpointAddress, EndpointId } from '../domain/endpoint';
import type { Emit } from '../domain/signal';
import type { SendResult } from '../domain/transport';
import { AppError } from '../platform/app-error';
import { steadyClock } from '../platform/clock';
import { type Connection, Recheck } from '../platform/recheck';
import { decodeMessage, encodeMessage, type HandedRequest, type ListenerAnswer } from './listener-message';
import { type ListenerLine, ListenerStream } from './listener-stream';
import type { Listeners } from './listeners';
import type { ListenerStore } from './redis-listener-store';
import type { RedisMailbox } from './redis-mailbox';

export interface ListenerStreamsParts {
  readonly listeners: Listeners;
  readonly listenerStore: ListenerStore;
  readonly mailbox: RedisMailbox;
  readonly emit: Emit;
}

export interface StreamOptions {
  /** The most running deliveries. */
  readonly parallel: number;
  /** How long it may be connected. Milliseconds. */
  readonly maxMs: number;
  /** Whether the client may still listen. Asked every two seconds; throws while that cannot be checked. */
  readonly isAllowed: () => Promise<boolean>;
}

const CHECK_EVERY_MS = 2_000;
// A client that does not read has this long to read the end.
const LAST_WORD_MS = 1_000;

/** The listeners that are connected to this process. */
export class ListenerStreams {
  readonly #streams = new Map<EndpointId, ListenerStream>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(private readonly parts: ListenerStreamsParts) {
    parts.mailbox.deliverTo((text) => this.#onMessage(text));
  }

  /**
   * Connect a listener, and give its lines until either side ends it. A stream that it has already, here or
   * at another process, ends.
   *
   * @throws AppError `not_found` when the account has no such listener, or it is gone.
   */
  async *open(
    address: EndpointAddress,
    { parallel, maxMs, isAllowed }: StreamOptions,
    { signal, close }: Connection,
  ): AsyncGenerator<ListenerLine, void> {
    if (this.#isStopped)
      throw new AppError('storage_unavailable', 'This process is stopping. Connect again.');
    await this.parts.listeners.requireAwake(address);
    const timers: NodeJS.Timeout[] = [];
    const onEnd = () => void timers.push(setTimeout(close, LAST_WORD_MS));
    const stream = await this.#create(address, parallel, onEnd);
    const recheck = new Recheck({ isAllowed, onEnd: (why) => stream.end(why) });
    const stopExpecting = this.parts.mailbox.expect();
    recheck.start();
    timers.push(setTimeout(() => stream.end('time_limit'), maxMs));
    signal.addEventListener('abort', () => stream.end('lost'));
    try {
      // The abort may have come before the stream was ready.
      if (signal.aborted) stream.end('lost');
      if (this.#isStopped) stream.end('stopping');
      void this.#begin(stream);
      yield* stream.lines();
    } finally {
      recheck.stop();
      stream.end('lost');
      for (const timer of timers) clearTimeout(timer);
      stopExpecting();
      await this.#close(stream);
    }
  }

  /**
   * Pass a listener's responses on to the process that it is connected to, which may be this one.
   *
   * @throws AppError `not_found`, `conflict` when it is not connected by this stream.
   */
  async answer(address: EndpointAddress, stream: string, answers: readonly ListenerAnswer[]): Promise<void> {
    const { accountId, endpointId } = address;
    const own = this.#streamOf(endpointId, stream);
    if (own?.address.accountId === accountId) return own.hear(answers);
    await this.parts.listeners.requireAwake(address);
    const holder = await this.parts.listenerStore.findHolder(endpointId);
    if (holder?.stream !== stream) throw notConnected();
    await this.parts.mailbox.post(
      holder.process,
      encodeMessage({ kind: 'answers', endpointId, stream, answers }),
    );
  }

  /**
   * End all streams: listeners connect again, to other processes. Each is released before its response ends,
   * for which the HTTP server waits.
   */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    for (const stream of this.#streams.values()) stream.end('stopping');
  }

  async #create(address: EndpointAddress, parallel: number, onEnd: () => void): Promise<ListenerStream> {
    const reply = (request: HandedRequest, result: SendResult) => void this.#reply(request, result);
    const ask = (request: HandedRequest) => void this.#ask(request);
    const id = randomUUID();
    const stream = new ListenerStream({ id, address, parallel, reply, ask, onEnd, clock: steadyClock });
    const { endpointId } = address;
    await this.parts.listenerStore.hold(endpointId, this.#holderOf(stream));
    this.#streams.get(endpointId)?.end('replaced');
    this.#streams.set(endpointId, stream);
    this.#timer ??= setInterval(() => void this.#check(), CHECK_EVERY_MS).unref();
    return stream;
  }

  // Release held deliveries last, when everything is ready to take them.
  async #begin(stream: ListenerStream): Promise<void> {
    const { listeners, emit } = this.parts;
    const { address, id } = stream;
    const { endpointId } = address;
    try {
      await listeners.untilCaughtUp(address, () => stream.ended !== undefined);
      if (stream.ended !== undefined) return;
      await listeners.connect(address, id);
      emit({ name: 'listener.connected', endpointId });
      stream.begin();
    } catch (error) {
      emit({ name: 'task.failed', task: 'connect a listener', error });
      stream.end('lost');
    }
  }

  async #close(stream: ListenerStream): Promise<void> {
    const { listeners, listenerStore, emit } = this.parts;
    const { address, id, ended } = stream;
    const { endpointId } = address;
    if (this.#streams.get(endpointId) === stream) this.#streams.delete(endpointId);
    emit({ name: 'listener.lost', endpointId, reason: ended ?? 'lost' });
    try {
      await listenerStore.letGo(endpointId, this.#holderOf(stream));
      await listeners.disconnect(address, id);
    } catch (error) {
      // `WatchListeners` finds it later.
      emit({ name: 'task.failed', task: 'disconnect a listener', error });
    }
  }

  async #check(): Promise<void> {
    if (this.#streams.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    await Promise.all([...this.#streams.values()].map((stream) => this.#checkOne(stream)));
  }

  async #checkOne(stream: ListenerStream): Promise<void> {
    const { listeners, listenerStore } = this.parts;
    const { endpointId } = stream.address;
    stream.check();
    try {
      if (!(await listeners.isAwake(stream.address))) return stream.end('removed');
      if (await listenerStore.renew(endpointId, this.#holderOf(stream))) return;
      const holder = await listenerStore.findHolder(endpointId);
      // No other stream holds it: this process could not reach Redis for so long that the listener counted as
      // lost.
      stream.end(holder === undefined ? 'lost' : 'replaced');
    } catch {
      // While Redis is away nothing is handed over either.
    }
  }

  #onMessage(text: string): void {
    const message = decodeMessage(text);
    if (message?.kind === 'request') {
      const { request } = message;
      const stream = this.#streamOf(request.endpointId, request.stream);
      if (stream) stream.offer(request);
      else void this.#reply(request, { kind: 'unsent', error: 'The listener is not connected any more.' });
    }
    if (message?.kind === 'answers') {
      this.#streamOf(message.endpointId, message.stream)?.hear(message.answers);
    }
    if (message?.kind === 'permit') {
      this.#streamOf(message.endpointId, message.stream)?.permit(message.id, message.mayBegin);
    }
  }

  #streamOf(endpointId: EndpointId, id: string): ListenerStream | undefined {
    const stream = this.#streams.get(endpointId);
    return stream?.id === id ? stream : undefined;
  }

  #holderOf({ id }: ListenerStream) {
    return { process: this.parts.mailbox.address, stream: id };
  }

  async #ask({ id, endpointId, stream, replyTo }: HandedRequest): Promise<void> {
    const { mailbox, emit } = this.parts;
    const asked = { kind: 'may_begin', askedBy: mailbox.address, id, endpointId, stream } as const;
    try {
      await mailbox.post(replyTo, encodeMessage(asked));
    } catch (error) {
      // The stream gives it back after a while.
      emit({ name: 'task.failed', task: 'ask whether a delivery to a listener may begin', error });
    }
  }

  async #reply({ id, replyTo }: HandedRequest, result: SendResult): Promise<void> {
    try {
      await this.parts.mailbox.post(replyTo, encodeMessage({ kind: 'result', id, result }));
    } catch (error) {
      // The worker's wait has a bound of its own.
      this.parts.emit({ name: 'task.failed', task: 'pass on the response of a listener', error });
    }
  }
}

function notConnected(): AppError {
  return new AppError('conflict', 'This stream of the listener has ended. Connect again.');
}
