import { type OutgoingHttpHeaders, type RequestOptions, request } from 'node:http';

interface Asked extends RequestOptions {
  readonly headers?: OutgoingHttpHeaders;
}

/** @returns the status of the answer, once its body has come; 0: there was none */
export function ask(url: string, options: Asked, body?: string | Buffer): Promise<number> {
  const described = body !== undefined && {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  return new Promise((resolve) => {
    const sent = request(url, { ...options, headers: { ...options.headers, ...described } });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(0));
    sent.on('response', (response) => {
      response.on('error', () => resolve(0));
      response.on('end', () => resolve(response.statusCode ?? 0));
      response.resume();
    });
    sent.end(body);
  });
}
