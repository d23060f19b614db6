import type { RequestHandler, Response } from 'express';
import helmet from 'helmet';
import { REQUEST_ID, type RequestState, requestStateOf } from './request-state';

/** For responses with data: a browser that is led to one may load, run and frame nothing. */
const securityHeaders = helmet({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
  },
  xFrameOptions: { action: 'deny' },
  // Other services below this host's name are not this product's to decide about.
  strictTransportSecurity: { includeSubDomains: false },
  // These concern pages and old browsers, which are not served here; each would go out with each response.
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
});

/** Names and values by turns. They are the same for all responses, so helmet is asked once. */
const SECURITY = gatherHeaders();

function gatherHeaders(): readonly string[] {
  const gathered: string[] = [];
  const response = {
    setHeader: (name: string, value: string) => gathered.push(name, value),
    removeHeader: () => {},
  };
  securityHeaders({} as never, response as never, (error) => {
    if (error !== undefined) throw error as Error;
  });
  return gathered;
}

/**
 * The head that each answer of the API has, names and values by turns, for `writeHead`: written at once it
 * costs half of what setting each header does.
 */
function headOf(state: RequestState): string[] {
  const { requestId, isClosing, rate } = state;
  const head = [REQUEST_ID, requestId];
  // A client that keeps its connection open learns that its next request goes elsewhere.
  if (isClosing) head.push('connection', 'close');
  for (const text of SECURITY) head.push(text);
  if (rate) head.push('ratelimit-policy', rate.policy, 'ratelimit', rate.standing);
  return head;
}

/** Answers of the API are about an account, and some show a secret. A route may say otherwise. */
const CACHE_CONTROL = 'cache-control';
const NO_STORE = 'no-store';

/** Set the same, for an answer that is not written at once. */
export function setHead(response: Response): void {
  const state = requestStateOf(response);
  const head = headOf(state);
  if (state.isOfApi) head.push(CACHE_CONTROL, NO_STORE);
  for (let i = 0; i + 1 < head.length; i += 2) response.setHeader(head[i] ?? '', head[i + 1] ?? '');
}

/** The head of pages and probes, which may change it. */
export const setHeads: RequestHandler = (_request, response, next) => {
  setHead(response);
  next();
};

/** Respond with a text, and with further headers, names and values by turns. */
export function sendText(
  response: Response,
  status: number,
  type: string,
  text: string,
  bytes: number,
  headers: readonly string[] = [],
): void {
  // A page's answer has its own head already.
  const state = requestStateOf(response);
  const head = response.hasHeader(REQUEST_ID) ? [] : headOf(state);
  if (state.isOfApi && !headers.includes(CACHE_CONTROL)) head.push(CACHE_CONTROL, NO_STORE);
  for (const part of headers) head.push(part);
  head.push('content-type', type, 'content-length', String(bytes));
  response.writeHead(status, head).end(text);
}
