import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Response } from 'express';
import { HttpServer } from '../http/http-server';
import { requestStateOf } from '../http/request-state';
import { createResponseCheck } from './check-response';

const REQUEST_STARTED = 'http.server.request.start';

/** Made once for all APIs of a file of tests: describing all routes takes a quarter of a second, and compiling a schema as long again. */
let sharedCheck: ReturnType<typeof createResponseCheck> | undefined;

interface Exchange {
  readonly server: Server;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * Compare the responses of routes with the API's description, from now on. `stop` throws an Error with every
 * difference, and with every message whose prototype was changed: that would cost more than Express itself.
 */
export function checkAnswers(): { stop(): void } {
  sharedCheck ??= createResponseCheck();
  const validationErrorsOf = sharedCheck;
  const validationErrors = new Set<string>();
  const listen: ChannelListener = (message) => {
    const { server, request, response } = message as Exchange;
    const begun = prototypesOf(request, response);
    onEnd(response, (body) => {
      const ended = prototypesOf(request, response);
      const isChanged = begun.some((prototype, i) => prototype !== ended[i]);
      // Other servers of a test are plain ones.
      if (isChanged && server instanceof HttpServer) {
        validationErrors.add(`${request.method} ${request.url}: the prototype of a message was changed`);
      }
      for (const fault of validationErrorsOf(answerIn(response as Response, body)))
        validationErrors.add(fault);
    });
  };
  subscribe(REQUEST_STARTED, listen);
  return {
    stop() {
      unsubscribe(REQUEST_STARTED, listen);
      if (validationErrors.size > 0)
        throw new Error(`Not as described:\n${[...validationErrors].join('\n')}`);
    },
  };
}

function prototypesOf(...messages: readonly object[]): readonly unknown[] {
  return messages.map((message) => Object.getPrototypeOf(message) as unknown);
}

function onEnd(response: ServerResponse, notice: (body: string) => void): void {
  const { end, write } = response;
  let written = '';
  response.write = function writeNoticed(this: ServerResponse, ...sent: unknown[]) {
    written += textOf(sent);
    return Reflect.apply(write, this, sent) as boolean;
  } as ServerResponse['write'];
  response.end = function endNoticed(this: ServerResponse, ...sent: unknown[]) {
    notice(written + textOf(sent));
    return Reflect.apply(end, this, sent) as ServerResponse;
  } as ServerResponse['end'];
}

function textOf([chunk]: readonly unknown[]): string {
  return typeof chunk === 'string' || Buffer.isBuffer(chunk) ? chunk.toString() : '';
}

function answerIn(response: Response, body: string) {
  return {
    method: response.req.method,
    route: routeOf(response),
    status: response.statusCode,
    contentType: contentTypeOf(response)?.split(';')[0],
    body,
  };
}

// A head that is written at once is known to Node by its text alone.
function contentTypeOf(response: Response): string | undefined {
  const { _header: head } = response as unknown as { readonly _header?: string | null };
  return response.getHeader('content-type')?.toString() ?? /^content-type: (.*)\r$/im.exec(head ?? '')?.[1];
}

// A response that Express has not touched has no locals.
function routeOf(response: Partial<Pick<Response, 'locals'>>): string | undefined {
  return response.locals && requestStateOf({ locals: response.locals })?.route;
}
