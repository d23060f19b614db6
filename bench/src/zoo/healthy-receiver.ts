import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Service } from './service';

const EVENT_TYPE = 'keyword.quick_win';
const LOOK_EVERY_MS = 50;
// A bound, so that a delivery that never comes ends the benchmark.
const LIMIT_MS = 120_000;

/** A receiver that answers at once, and knows how long each event was under way. */
export class HealthyReceiver {
  readonly #sentAt = new Map<string, number>();
  #delaysMs: number[] = [];
  readonly #server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.on('end', () => {
      this.#take(body);
      response.writeHead(204).end();
    });
  });

  static async start(service: Service): Promise<HealthyReceiver> {
    const receiver = new HealthyReceiver();
    receiver.#server.listen(0, '127.0.0.1');
    await once(receiver.#server, 'listening');
    const { port } = receiver.#server.address() as AddressInfo;
    await service.register(`http://127.0.0.1:${port}/hook`, EVENT_TYPE);
    return receiver;
  }

  /**
   * Publishes one event after the other at a steady rate.
   * @returns how long each took from before it was published until it came here, in milliseconds
   */
  async receive(service: Service, count: number, everyMs: number): Promise<readonly number[]> {
    this.#delaysMs = [];
    const publishing: Promise<void>[] = [];
    for (let i = 0; i < count; i += 1) {
      const keyword = `red shoes ${i} ${Math.random()}`;
      this.#sentAt.set(keyword, performance.now());
      const published = service.publish(EVENT_TYPE, { keyword, position: 11, volume: 2400 });
      // A failure is told below; by itself it would end the process, and leave the service behind.
      published.catch(() => {});
      publishing.push(published);
      await wait(everyMs);
    }
    await Promise.all(publishing);
    const limit = Date.now() + LIMIT_MS;
    while (this.#sentAt.size > 0) {
      if (Date.now() > limit)
        throw new Error(`${this.#sentAt.size} of ${count} healthy deliveries never came.`);
      await wait(LOOK_EVERY_MS);
    }
    return this.#delaysMs;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #take(body: string): void {
    const { keyword } = (JSON.parse(body) as { data: { keyword: string } }).data;
    const sentAt = this.#sentAt.get(keyword);
    // A second time, should it come twice, is no delay.
    if (sentAt === undefined) return;
    this.#sentAt.delete(keyword);
    this.#delaysMs.push(performance.now() - sentAt);
  }
}
