import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { until } from '../support/until';
import { isAccepted, pairOf, type ReceivedRequest } from './ledger';
import type { FromReceivers, ToReceivers } from './receiver-messages';

/** The receivers of a run, and what has arrived there. */
export class Receivers {
  readonly requests: ReceivedRequest[] = [];
  /** The pairs of event and endpoint of which a request got 2xx. */
  readonly accepted = new Set<string>();
  readonly #acceptedAt = new Map<string, number>();

  #trapped = 0;

  private constructor(
    private readonly child: ChildProcess,
    private readonly port: number,
  ) {
    child.on('message', (message: FromReceivers) => {
      if (message.kind === 'requests') this.#take(message.requests);
      if (message.kind === 'trapped') this.#trapped += 1;
    });
  }

  static async start(): Promise<Receivers> {
    const child = fork(join(__dirname, 'receiver-process.js'));
    const [message] = (await once(child, 'message')) as [FromReceivers];
    if (message.kind !== 'listening') throw new Error('The receivers did not say where they listen.');
    return new Receivers(child, message.port);
  }

  urlOf(endpoint: string): string {
    return `http://127.0.0.1:${this.port}/${endpoint}`;
  }

  /** Does nothing once they are stopped: what a run that broke off had begun may still want something of them. */
  send(message: ToReceivers): void {
    if (this.child.connected) this.child.send(message);
  }

  /** How many events an endpoint has accepted. */
  countAccepted(endpoint: string): number {
    return this.#acceptedAt.get(endpoint) ?? 0;
  }

  /** From now on whoever sends this event gets no response. */
  setTrap(marker: string | undefined): void {
    this.#trapped = 0;
    this.send({ kind: 'trap', marker });
  }

  /** Resolves once so many requests are in the trap. */
  async untilTrapped(count: number): Promise<void> {
    await until(async () => (this.#trapped >= count ? true : undefined));
  }

  stop(): void {
    if (this.child.connected) this.child.disconnect();
  }

  #take(requests: readonly ReceivedRequest[]): void {
    for (const request of requests) {
      this.requests.push(request);
      if (!isAccepted(request) || this.accepted.has(pairOf(request))) continue;
      this.accepted.add(pairOf(request));
      this.#acceptedAt.set(request.endpoint, this.countAccepted(request.endpoint) + 1);
    }
  }
}
