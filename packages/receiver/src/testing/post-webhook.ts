import { type IncomingHttpHeaders, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { BODY, signStandard } from './sign-webhook';

export interface Posted {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface PostInput {
  readonly body?: string | Uint8Array;
  /** Default: a good signature over the body. An array is sent as a header each. */
  readonly headers?: Record<string, string | string[]>;
}

/** Sends a webhook over HTTP as the service does. */
export function postWebhook(port: number, { body = BODY, headers }: PostInput = {}): Promise<Posted> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        port,
        host: '127.0.0.1',
        path: '/webhooks',
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          ...(headers ?? signStandard({ body })),
        },
      },
      (response) => {
        text(response).then(
          (received) =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text: received }),
          reject,
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
