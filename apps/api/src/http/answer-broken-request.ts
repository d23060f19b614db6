import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { AppError } from '@hookferry/core/kernel/app-error';
import type { NewId } from '@hookferry/core/kernel/ids';
import type { ConnectionRefusal, Emit } from '@hookferry/core/model/signal';
import { PROBLEM_TYPE, presentProblem } from './problem';

export interface BrokenRequestOptions {
  readonly newId: NewId;
  readonly emit: Emit;
}

interface Refusal {
  readonly reason: ConnectionRefusal;
  readonly error: AppError;
}

// For a client that does not close its side: until then it may still read the answer.
const LINGER_MS = 1_000;

/** Answers what never became a request that Express could see, and hangs up. */
export function answerBrokenRequest({ newId, emit }: BrokenRequestOptions) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    // The parser complains again about what comes after the answer.
    if (socket.writableEnded) return;
    const refusal = refusalOf(error.code);
    if (!refusal || !socket.writable) return void socket.destroy();
    const clientAddress = socket.remoteAddress;
    emit({
      name: 'connection.refused',
      reason: refusal.reason,
      ...(clientAddress === undefined ? {} : { clientAddress }),
    });
    socket.end(toBytes(refusal.error, newId('req')));
    const linger = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(linger));
  };
}

/** `undefined` when there is nobody left to answer. */
function refusalOf(code = ''): Refusal | undefined {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return {
      reason: 'too_slow',
      error: new AppError('request_timeout', 'The request took too long to come.'),
    };
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return {
      reason: 'headers_too_large',
      error: new AppError('headers_too_large', 'URL and headers are too long.'),
    };
  }
  if (code.startsWith('HPE_')) {
    return {
      reason: 'malformed',
      error: new AppError('malformed_request', 'The request is not well-formed HTTP/1.1.'),
    };
  }
  return undefined;
}

function toBytes(error: AppError, requestId: string): string {
  const { status, body } = presentProblem(error, requestId);
  const json = JSON.stringify(body);
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${PROBLEM_TYPE}; charset=utf-8`,
    `Content-Length: ${Buffer.byteLength(json)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
    '',
    json,
  ].join('\r\n');
}
