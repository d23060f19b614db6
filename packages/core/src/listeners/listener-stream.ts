import type { EndpointAddress } from '../domain/endpoint';
import type { SendResult } from '../domain/transport';
import type { Clock } from '../platform/clock';
import { recheckEnds } from '../platform/recheck';
import { type HandedRequest, type ListenerAnswer, resultOf } from './listener-message';

/** What a listener is told, one after the other. */
export type ListenerLine =
  /** It is connected: what comes in from now on is handed over. */
  | { readonly kind: 'ready'; readonly stream: string }
  | { readonly kind: 'delivery'; readonly exchange: string; readonly request: HandedRequest }
  /** The stream is over; `replaced`: another one has taken its place, and it is no use to connect again. */
  | { readonly kind: 'end'; readonly reason: EndReason };

export const endReasons = [
  'replaced',
  'stopping',
  'silent',
  'lost',
  'removed',
  'time_over',
  ...recheckEnds,
] as const;
export type EndReason = (typeof endReasons)[number];

export interface ListenerStreamOptions {
  readonly id: string;
  readonly address: EndpointAddress;
  /** How many deliveries it may have under way. */
  readonly parallel: number;
  /** Gives a worker the result of what it has handed over. */
  readonly reply: (request: HandedRequest, result: SendResult) => void;
  /** Nothing is said after that. */
  readonly onEnd: () => void;
  /** One that never jumps. */
  readonly clock: Clock;
}

interface HandedOver {
  readonly request: HandedRequest;
  readonly at: number;
}

/**
 * A listener that says nothing for so long is taken for gone; it gives a sign of life three times as often.
 */
export const SILENCE_MS = 15_000;
// A listener keeps the time-out by itself; so much later it should have said so.
const ANSWER_MARGIN_MS = 2_000;

const WHY: Readonly<Record<EndReason, string>> = {
  replaced: 'Another listener has taken its place.',
  stopping: 'The process that has the listener is stopping.',
  silent: 'The listener gives no sign of life.',
  lost: 'The listener hung up before it had answered.',
  removed: 'The listener was removed.',
  time_over: 'The time of the connection is over.',
  unauthenticated: 'The API key of the listener is not valid any more.',
  unverified: 'Whether the API key of the listener is valid could not be found out.',
};

/**
 * One listener that is connected. Holds no more than workers have handed over and wait for, of which a
 * bounded number is under way. When it ends, workers hear of all that has no answer that it was not sent: it
 * will be once more.
 */
export class ListenerStream {
  readonly id: string;
  readonly address: EndpointAddress;
  readonly #waiting: HandedOver[] = [];
  readonly #underWay = new Map<string, HandedOver>();
  readonly #lines: ListenerLine[] = [];
  #wake: () => void = () => {};
  #count = 0;
  #heardAt: number;
  #end: EndReason | undefined;

  constructor(private readonly options: ListenerStreamOptions) {
    this.id = options.id;
    this.address = options.address;
    this.#heardAt = options.clock();
  }

  get ended(): EndReason | undefined {
    return this.#end;
  }

  begin(): void {
    this.#say({ kind: 'ready', stream: this.id });
  }

  offer(request: HandedRequest): void {
    if (this.#end !== undefined) return this.#refuse(request, WHY[this.#end]);
    this.#waiting.push({ request, at: this.options.clock() });
    this.#handOver();
  }

  /** What the listener says; also that there is nothing to say is a sign of life. */
  hear(answers: readonly ListenerAnswer[]): void {
    this.#heardAt = this.options.clock();
    for (const answer of answers) {
      const known = this.#underWay.get(answer.exchange);
      this.#underWay.delete(answer.exchange);
      if (known) this.options.reply(known.request, resultOf(answer, known.request.keptBytes));
    }
    this.#giveUpUnanswered();
    this.#handOver();
  }

  /** To be called now and then: ends a stream that is silent, and gives back what has waited for too long. */
  check(): void {
    const now = this.options.clock();
    if (now - this.#heardAt > SILENCE_MS) return this.end('silent');
    while (this.#waiting[0] && now - this.#waiting[0].at > this.#waiting[0].request.timeoutMs) {
      const late = this.#waiting.shift();
      if (late) this.#refuse(late.request, 'The listener is busy.');
    }
  }

  end(reason: EndReason): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    for (const { request } of [...this.#waiting.splice(0), ...this.#underWay.values()]) {
      this.#refuse(request, WHY[reason]);
    }
    this.#underWay.clear();
    // What it has not taken yet was just refused.
    this.#lines.length = 0;
    this.#say({ kind: 'end', reason });
    this.options.onEnd();
  }

  /** Everything that it is told, until it ends. */
  async *lines(): AsyncGenerator<ListenerLine, void> {
    for (;;) {
      const line = this.#lines.shift();
      if (line) yield line;
      if (line?.kind === 'end') return;
      if (this.#lines.length > 0) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  // It has given a sign of life since its own time was over, and still says nothing of them.
  #giveUpUnanswered(): void {
    const now = this.options.clock();
    for (const [exchange, { request, at }] of this.#underWay) {
      if (now - at <= request.timeoutMs + ANSWER_MARGIN_MS) continue;
      this.#underWay.delete(exchange);
      const error = `No full answer in ${request.timeoutMs} ms.`;
      this.options.reply(request, { kind: 'failed', reason: 'response_timeout', error, timings: {} });
    }
  }

  #handOver(): void {
    while (this.#underWay.size < this.options.parallel) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#count += 1;
      const exchange = String(this.#count);
      this.#underWay.set(exchange, { request: next.request, at: this.options.clock() });
      this.#say({ kind: 'delivery', exchange, request: next.request });
    }
  }

  #refuse(request: HandedRequest, error: string): void {
    this.options.reply(request, { kind: 'unsent', error });
  }

  #say(line: ListenerLine): void {
    this.#lines.push(line);
    this.#wake();
  }
}
