import { AppError } from '@hookferry/core/kernel/app-error';
import type { RequestHandler } from 'express';

// Longer than any id or cursor of ours, shorter than what proxies let through.
const MAX_URL_LENGTH = 8 * 1024;
// Node passes over the headers beyond its `maxHeadersCount` in silence, so they are counted below it.
const MAX_HEADERS = 100;

/** Before anything else looks at them. The size of all headers together is the HTTP server's to limit. */
export const refuseBadHead: RequestHandler = (request, _response, next) => {
  const { url, rawHeaders, headers, httpVersion } = request;
  // RFC 9112, 3.2. Node would do the same, without a word of why.
  if (headers.host === undefined && httpVersion !== '1.0') {
    throw new AppError('malformed_request', 'The header "Host" is missing.');
  }
  if (url.length > MAX_URL_LENGTH) {
    throw new AppError('uri_too_long', `The URL is longer than ${MAX_URL_LENGTH} characters.`);
  }
  if (rawHeaders.length > 2 * MAX_HEADERS) {
    throw new AppError('headers_too_large', `There are more than ${MAX_HEADERS} headers.`);
  }
  next();
};
