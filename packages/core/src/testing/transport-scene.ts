import type { IncomingMessage, ServerResponse } from 'node:http';
import { GotTransport, type GotTransportOptions } from '../deliver/got-transport';
import type { DeliveryRequest, SendResult } from '../domain/transport';
import { buildTransportOptions } from './build-transport-options';
import { type Closable, createClosables } from './closables';
import { type LocalServer, startHttpServer } from './local-server';

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Transports and receivers of one test. */
export class TransportScene {
  readonly #closables = createClosables();

  /** Close the resources of the test. */
  readonly clear = (): Promise<void> => this.#closables.closeAll();

  readonly willClose = <Resource extends Closable>(resource: Resource): Resource =>
    this.#closables.willClose(resource);

  openTransport(change: Partial<GotTransportOptions> = {}): GotTransport {
    return this.willClose(new GotTransport(buildTransportOptions(change)));
  }

  /** Sends one request after the other through the same transport. */
  sender(change: Partial<GotTransportOptions> = {}, always: Partial<DeliveryRequest> = {}) {
    const transport = this.openTransport(change);
    return (url: string, more: Partial<DeliveryRequest> = {}): Promise<SendResult> =>
      transport.send({ url, headers: {}, body: '{}', ...always, ...more }, new AbortController().signal);
  }

  /** A receiver that answers 204 by itself. */
  async startReceiver(
    answer: Answer = (_request, response) => response.writeHead(204).end(),
  ): Promise<LocalServer> {
    return this.willClose(await startHttpServer((request, response) => void answer(request, response)));
  }
}
