import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The receivers of all endpoints, run as a process of its own: below `/healthy` it answers 204 at once and remembers
 * when which event came, below `/hanging` it never answers. Tells its parent the port, and the arrivals when asked.
 */
const EVENT_NUMBER = /event (\d+)/;

let arrivals: [event: number, at: number][] = [];

const server = createServer((request, response) => {
  if (request.url?.startsWith('/hanging')) return;
  let body = '';
  request.setEncoding('utf8').on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => {
    arrivals.push([Number(EVENT_NUMBER.exec(body)?.[1]), Date.now()]);
    response.writeHead(204).end();
  });
});

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.on('message', () => {
  process.send?.(arrivals);
  arrivals = [];
});
process.on('disconnect', () => process.exit());
