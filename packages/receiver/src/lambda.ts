import { BodyTooLong } from './body-too-long';
import type { RequestHeaders } from './headers';
import { createReceive } from './receive';
import type { ReceiverOptions } from './receiver-options';

export type { Handler, Handlers, HandlingOptions, ReceiverOptions } from './receiver-options';

/** The used part of an event of API Gateway (payload 1.0 or 2.0), a function URL or a load balancer. */
export interface LambdaEvent {
  readonly headers?: Readonly<Record<string, string | undefined>> | null;
  /** Payload 1.0: has each value of a header that came twice. */
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null;
  readonly body?: string | null;
  readonly isBase64Encoded?: boolean;
}

export interface LambdaResult {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A handler for AWS Lambda: `export const handler = webhooks({ secret, on: { … } })`. */
export function webhooks<Events extends object = Record<string, unknown>>(
  options: ReceiverOptions<Events>,
): (event: LambdaEvent) => Promise<LambdaResult> {
  const receive = createReceive(options);
  return async (event) => {
    const { status, headers, text } = await receive({
      headers: headersOf(event),
      readBody: (maxBytes) => bodyOf(event, maxBytes),
    });
    return { statusCode: status, headers: { ...headers }, body: text };
  };
}

function headersOf({ headers, multiValueHeaders }: LambdaEvent): RequestHeaders {
  return multiValueHeaders ?? headers ?? {};
}

function bodyOf({ body, isBase64Encoded }: LambdaEvent, maxBytes: number): string | Buffer {
  // An object would be a wrong configuration of the gateway. `verify` throws an error that says so.
  if (typeof body !== 'string') return body ?? '';
  const bytes = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
  if (bytes.length > maxBytes) throw new BodyTooLong(maxBytes);
  return bytes;
}
