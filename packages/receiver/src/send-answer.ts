import type { ServerResponse } from 'node:http';
import type { Answer } from './answers';

/** Answers a request of Node. */
export function sendAnswer(response: ServerResponse, { status, headers, text }: Answer): void {
  response.writeHead(status, headers).end(text);
}
