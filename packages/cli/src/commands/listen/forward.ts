import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { ForwardFailure } from '../../resources';

/** A delivery as a worker would send it to a URL. */
export interface ForwardedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** For all of it. Milliseconds. */
  readonly timeoutMs: number;
  /** How much of the response's body is wanted. */
  readonly responseBytes: number;
}

/** The result. Durations are in milliseconds. */
export type Forwarded =
  | {
      readonly kind: 'responded';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Uint8Array;
      readonly firstByteMs: number;
      readonly durationMs: number;
    }
  | {
      readonly kind: 'failed';
      readonly outcome: ForwardFailure;
      readonly error: string;
      readonly durationMs: number;
    };

const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };

/**
 * Sends a delivery to a URL of this machine, once, to the byte. A refusal is a result too.
 *
 * @throws when `signal` is aborted.
 */
export async function forward(url: URL, given: ForwardedRequest, signal: AbortSignal): Promise<Forwarded> {
  const startedAt = performance.now();
  const durationMs = () => performance.now() - startedAt;
  const timeOut = AbortSignal.timeout(given.timeoutMs);
  try {
    const response = await open(url, given, AbortSignal.any([signal, timeOut]));
    const firstByteMs = durationMs();
    const body = await readUpTo(response, given.responseBytes);
    const { statusCode: status = 0, headers } = response;
    return {
      kind: 'responded',
      status,
      headers: textsOf(headers),
      body,
      firstByteMs,
      durationMs: durationMs(),
    };
  } catch (error) {
    if (signal.aborted) throw error;
    const failure = timeOut.aborted ? timedOut(given) : classify(error as NodeJS.ErrnoException, url);
    return { kind: 'failed', ...failure, durationMs: durationMs() };
  }
}

function open(url: URL, { headers, body }: ForwardedRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const isSecure = url.protocol === 'https:';
  const options = {
    method: 'POST',
    headers: { ...headers, 'content-length': body.length },
    agent: isSecure ? agents.https : agents.http,
    signal,
  };
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = isSecure ? requestHttps(url, options) : requestHttp(url, options);
    sent.on('response', resolve).on('error', reject).end(body);
  });
}

/** The rest is read as well, and dropped, or the connection could not be used again. */
async function readUpTo(response: IncomingMessage, most: number): Promise<Uint8Array> {
  const kept: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (length < most) kept.push(chunk.subarray(0, most - length));
    length += chunk.length;
  }
  return Buffer.concat(kept);
}

function textsOf(headers: IncomingMessage['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

function timedOut({ timeoutMs }: ForwardedRequest) {
  return { outcome: 'response_timeout', error: `No full response in ${timeoutMs} ms.` } as const;
}

const BY_CODE: Readonly<Record<string, readonly [ForwardFailure, string]>> = {
  ECONNREFUSED: ['connect_refused', 'connection_refused: nothing listens at'],
  ECONNRESET: ['connection_reset', 'connection_reset: the connection was closed by'],
  EPIPE: ['connection_reset', 'connection_reset: the connection was closed by'],
  ENOTFOUND: ['dns_error', 'dns_error: there is no such host name:'],
  EAI_AGAIN: ['dns_error', 'dns_error: no DNS server answered for'],
  ETIMEDOUT: ['connect_timeout', 'connect_timeout: no connection to'],
};

function classify(error: NodeJS.ErrnoException, { host }: URL): { outcome: ForwardFailure; error: string } {
  const code = error.code ?? '';
  const known = BY_CODE[code];
  if (known) return { outcome: known[0], error: `${known[1]} ${host}` };
  const outcome = /CERT|TLS|SSL|SIGNED|ALTNAME/.test(code)
    ? 'tls_error'
    : code.startsWith('HPE_')
      ? 'protocol_error'
      : 'network_error';
  return { outcome, error: `${outcome}: ${error.message} (${host})` };
}
