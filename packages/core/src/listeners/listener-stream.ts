import type { EndpointAddress } from '../domain/endpoint';
import type { SendResult } from '../domain/transport';
import { CACHED_FOR_MS } from '../events/redis-event-store';
import type { Clock } from '../platform/clock';
import { recheckEnds } from '../platform/recheck';
import { type HandedRequest, type ListenerAnswer, resultOf } from './listener-message';

/** The messages to a listener. */
export type ListenerLine =
  /** It is connected: deliveries from now on are handed over. */
  | { readonly kind: 'ready'; readonly stream: string }
  | { readonly kind: 'delivery'; readonly exchange: string; readonly request: HandedRequest }
  /** The stream is over; `replaced`: another one has taken over, and connecting again is useless. */
  | { readonly kind: 'end'; readonly reason: EndReason };

export const endReasons = [
  'replaced',
  'stopping',
  'silent',
  'lost',
  'removed',
  'time_limit',
  ...recheckEnds,
] as const;
export type EndReason = (typeof endReasons)[number];

export interface ListenerStreamOptions {
  readonly id: string;
  readonly address: EndpointAddress;
  /** The most running deliveries. */
  readonly parallel: number;
  /** Return the result of a handed-over delivery to its worker. */
  readonly reply: (request: HandedRequest, result: SendResult) => void;
  /** Ask the worker of a delivery that has waited whether it still may begin. `permit` gets the answer. */
  readonly ask: (request: HandedRequest) => void;
  /** Nothing is sent after that. */
  readonly onEnd: () => void;
  /** One that never jumps. */
  readonly clock: Clock;
}

interface HandedOver {
  readonly request: HandedRequest;
  /** When its worker handed it over, whose patience counts from here. */
  readonly since: number;
  /** Since when it is where it is now. */
  readonly at: number;
  /** Later than that it does not begin unless its worker is asked again. */
  readonly beginsBy: number;
}

/** A listener that is silent for this long counts as gone. It sends a sign of life three times as often. */
export const SILENCE_MS = 15_000;
// A listener observes the time-out itself. Its response must come within this time afterwards.
const ANSWER_MARGIN_MS = 2_000;
// As for any request: its event may have been erased, or its endpoint changed, while it waited.
const BEGINS_UNASKED_MS = CACHED_FOR_MS;
const BEGINS_WITHIN_MS = 2 * CACHED_FOR_MS;

const BUSY = 'The listener is busy.';

const WHY: Readonly<Record<EndReason, string>> = {
  replaced: 'Another listener has taken its place.',
  stopping: 'The process that has the listener is stopping.',
  silent: 'The listener gives no sign of life.',
  lost: 'The listener hung up before it had responded.',
  removed: 'The listener was removed.',
  time_limit: 'The time of the connection is over.',
  unauthenticated: 'The API key of the listener is not valid any more.',
  unverified: 'Whether the API key of the listener is valid could not be found out.',
};

/**
 * One connected listener. It holds only deliveries that workers have handed over and wait for, a bounded
 * number of them running. When it ends, workers learn that all deliveries without a response were not sent:
 * they will be sent once more.
 */
export class ListenerStream {
  readonly id: string;
  readonly address: EndpointAddress;
  readonly #waiting: HandedOver[] = [];
  /** Those that their workers are asked about, by the ids that these have given them. */
  readonly #asked = new Map<string, HandedOver>();
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
    const now = this.options.clock();
    this.#waiting.push({ request, since: now, at: now, beginsBy: now + BEGINS_UNASKED_MS });
    this.#handOver();
  }

  /** The answer of its worker, which knows itself of one that may not begin. */
  permit(id: string, mayBegin: boolean): void {
    const known = this.#asked.get(id);
    if (known === undefined) return;
    this.#asked.delete(id);
    // A reply that took long would be a wait of its own.
    if (mayBegin) this.#beginOrAsk(known);
    this.#handOver();
    this.#wake();
  }

  /** The listener's responses. An empty list is a sign of life too. */
  hear(answers: readonly ListenerAnswer[]): void {
    this.#heardAt = this.options.clock();
    for (const answer of answers) {
      const known = this.#underWay.get(answer.exchange);
      this.#underWay.delete(answer.exchange);
      // A client may respond to what it has not read.
      this.#dropLine(answer.exchange);
      if (known) this.options.reply(known.request, resultOf(answer, known.request.keptBytes));
    }
    this.#giveUpUnanswered();
    this.#handOver();
  }

  /** Call it regularly: it ends a silent stream, and gives back deliveries that have waited for too long. */
  check(): void {
    const now = this.options.clock();
    if (now - this.#heardAt > SILENCE_MS) return this.end('silent');
    while (this.#waiting[0] && now - this.#waiting[0].at > this.#waiting[0].request.timeoutMs) {
      const late = this.#waiting.shift();
      if (late) this.#refuse(late.request, BUSY);
    }
    for (const [id, { request, at }] of this.#asked) {
      if (now - at <= request.timeoutMs) continue;
      this.#asked.delete(id);
      this.#refuse(request, 'Whether it might begin could not be found out.');
    }
    this.#handOver();
    this.#wake();
  }

  end(reason: EndReason): void {
    if (this.#end !== undefined) return;
    this.#end = reason;
    const all = [...this.#waiting.splice(0), ...this.#asked.values(), ...this.#underWay.values()];
    for (const { request } of all) this.#refuse(request, WHY[reason]);
    this.#asked.clear();
    this.#underWay.clear();
    // The lines that it has not read were just refused.
    this.#lines.length = 0;
    this.#say({ kind: 'end', reason });
    this.options.onEnd();
  }

  /** All lines until the end. */
  async *lines(): AsyncGenerator<ListenerLine, void> {
    for (;;) {
      const line = this.#lines.shift();
      const goes = line !== undefined && this.#beginsNow(line);
      if (goes) yield line;
      if (line?.kind === 'end') return;
      // One question at a time: while it is asked, those behind it would only become older still.
      if (this.#lines.length > 0 && (goes || this.#asked.size === 0)) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /**
   * A client that does not read leaves lines here for as long as it likes. A request begins when its line goes. One that has
   * waited does not: its worker is asked once more, or gets it back.
   */
  #beginsNow(line: ListenerLine): boolean {
    if (line.kind !== 'delivery') return true;
    const known = this.#underWay.get(line.exchange);
    if (!known) return false;
    const now = this.options.clock();
    if (now <= known.beginsBy) return true;
    this.#underWay.delete(line.exchange);
    if (now - known.since <= known.request.timeoutMs) this.#ask(known);
    else {
      this.#refuse(known.request, BUSY);
      this.#handOver();
    }
    return false;
  }

  // It has given a sign of life since the time-out, and still has no response to them.
  #giveUpUnanswered(): void {
    const now = this.options.clock();
    for (const [exchange, { request, at }] of this.#underWay) {
      if (now - at <= request.timeoutMs + ANSWER_MARGIN_MS) continue;
      this.#underWay.delete(exchange);
      if (this.#dropLine(exchange)) {
        this.#refuse(request, BUSY);
        continue;
      }
      const error = `No full response in ${request.timeoutMs} ms.`;
      this.options.reply(request, { kind: 'failed', reason: 'response_timeout', error, timings: {} });
    }
  }

  /** @returns whether the client had not read it yet */
  #dropLine(exchange: string): boolean {
    const at = this.#lines.findIndex((line) => line.kind === 'delivery' && line.exchange === exchange);
    if (at < 0) return false;
    this.#lines.splice(at, 1);
    return true;
  }

  #handOver(): void {
    while (this.#underWay.size + this.#asked.size < this.options.parallel) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#beginOrAsk(next);
    }
  }

  #beginOrAsk(known: HandedOver): void {
    if (this.options.clock() > known.beginsBy) this.#ask(known);
    else this.#begin(known);
  }

  #ask({ request, since }: HandedOver): void {
    const now = this.options.clock();
    this.#asked.set(request.id, { request, since, at: now, beginsBy: now + BEGINS_WITHIN_MS });
    this.options.ask(request);
  }

  #begin(known: HandedOver): void {
    this.#count += 1;
    const exchange = String(this.#count);
    this.#underWay.set(exchange, { ...known, at: this.options.clock() });
    this.#say({ kind: 'delivery', exchange, request: known.request });
  }

  #refuse(request: HandedRequest, error: string): void {
    this.options.reply(request, { kind: 'unsent', error });
  }

  #say(line: ListenerLine): void {
    this.#lines.push(line);
    this.#wake();
  }
}
