import type { ErrorCode } from '@hookferry/core/kernel/app-error';
import type { Clock } from '@hookferry/core/kernel/clock';
import { httpMethodOf } from '@hookferry/core/model/http-method';
import type { Principal } from '@hookferry/core/model/principal';
import type { Emit } from '@hookferry/core/model/signal';
import type { RequestHandler } from 'express';
import { requestIdOf } from './request-id';
import { spanOf } from './trace-requests';

/** What those who work on a request leave for the log. */
interface RequestLocals {
  readonly apiKey?: Principal;
  readonly code?: ErrorCode;
}

// What no route is for shares one label, or strangers could make as many time series as they like.
const NO_ROUTE = 'none';

/** Announces each request once its answer is out, or the client is gone. */
export function announceRequests(emit: Emit, clock: Clock): RequestHandler {
  return (request, response, next) => {
    const startedAt = clock();
    // A socket that is closed no longer knows whose it was.
    const clientAddress = request.ip;
    response.once('close', () => {
      const { apiKey, code } = response.locals as RequestLocals;
      const span = spanOf(response);
      emit({
        name: 'request.completed',
        requestId: requestIdOf(response),
        method: httpMethodOf(request.method),
        route: String(response.locals.route ?? NO_ROUTE),
        status: response.statusCode,
        durationMs: clock() - startedAt,
        ...(clientAddress === undefined ? {} : { clientAddress }),
        ...(apiKey === undefined ? {} : whoIs(apiKey)),
        ...(code === undefined ? {} : { code }),
        ...(span === undefined ? {} : { span }),
      });
    });
    next();
  };
}

function whoIs({ accountId, id, capabilities }: Principal) {
  return capabilities === undefined ? { accountId, keyId: id } : { accountId, sessionId: id };
}
