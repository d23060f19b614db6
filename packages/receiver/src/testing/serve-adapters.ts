import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import express from 'express';
import fastify from 'fastify';
import Koa from 'koa';
import * as ofExpress from '../express';
import * as ofFastify from '../fastify';
import * as ofFetch from '../fetch';
import * as ofKoa from '../koa';
import * as ofLambda from '../lambda';
import type { ReceiverOptions } from '../receiver-options';

export interface ServedAdapter {
  readonly port: number;
  close(): Promise<void>;
}

export type Serve = (options: ReceiverOptions) => Promise<ServedAdapter>;

/** Each adapter in its framework, at /webhooks of a port of its own. */
export const servedAdapters: readonly (readonly [name: string, serve: Serve])[] = [
  ['express', (options) => serve(express().post('/webhooks', ofExpress.webhooks(options)))],
  ['koa', (options) => serve(new Koa().use(ofKoa.webhooks(options)).callback())],
  ['fastify', serveFastify],
  ['fetch', (options) => serve(fetchListener(ofFetch.webhooks(options)))],
  ['lambda', (options) => serve(lambdaListener(ofLambda.webhooks(options)))],
];

export async function serve(
  listener: (...exchange: Parameters<RequestListener>) => unknown,
): Promise<ServedAdapter> {
  const server: Server = createServer((request, response) => void listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serveFastify(options: ReceiverOptions): Promise<ServedAdapter> {
  const app = fastify({ forceCloseConnections: true });
  await app.register(ofFastify.webhooks({ path: '/webhooks', ...options }));
  await app.listen({ port: 0, host: '127.0.0.1' });
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() };
}

function fetchListener(receive: (request: Request) => Promise<Response>): RequestListener {
  return (incoming, outgoing) => {
    void (async () => {
      const headers = new Headers();
      for (const [name, value] of headerPairs(incoming)) headers.append(name, value);
      const body = await buffer(incoming);
      const response = await receive(
        new Request('http://receiver/webhooks', { method: 'POST', headers, body }),
      );
      outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
    })();
  };
}

/** As a gateway with payload 1.0 does, which has binary media types on. */
function lambdaListener(
  receive: (event: ofLambda.LambdaEvent) => Promise<ofLambda.LambdaResult>,
): RequestListener {
  return (incoming, outgoing) => {
    void (async () => {
      const multiValueHeaders: Record<string, string[]> = {};
      for (const [name, value] of headerPairs(incoming)) (multiValueHeaders[name] ??= []).push(value);
      const body = (await buffer(incoming)).toString('base64');
      const result = await receive({ multiValueHeaders, body, isBase64Encoded: true });
      outgoing.writeHead(result.statusCode, result.headers).end(result.body);
    })();
  };
}

function headerPairs({ rawHeaders }: IncomingMessage): [string, string][] {
  return rawHeaders.flatMap((name, index) =>
    index % 2 === 0 ? [[name, rawHeaders[index + 1] ?? ''] as [string, string]] : [],
  );
}
