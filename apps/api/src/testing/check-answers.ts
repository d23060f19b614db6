import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import type { Response } from 'express';
import { requestStateOf } from '../http/request-state';
import { createResponseCheck } from './check-response';

const REQUEST_STARTED = 'http.server.request.start';

/**
 * Compare the responses of routes with the API's description, from now on. `stop` throws an Error with every
 * difference.
 */
export function checkAnswers(): { stop(): void } {
  const validationErrorsOf = createResponseCheck();
  const validationErrors = new Set<string>();
  const listen: ChannelListener = (message) => {
    const { response } = message as { readonly response: ServerResponse };
    onEnd(response, (body) => {
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
