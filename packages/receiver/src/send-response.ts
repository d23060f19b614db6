import type { ServerResponse } from 'node:http';
import type { ReceiverResponse } from './responses';

/** Responds to a request of Node. */
export function sendResponse(response: ServerResponse, { status, headers, text }: ReceiverResponse): void {
  response.writeHead(status, headers).end(text);
}
