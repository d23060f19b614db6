import type { RequestHandler } from 'express';
import { contentSecurityPolicy } from 'helmet';

/**
 * What the portal's page may do: run its own files, and ask the API. It is shown in a frame by nobody but the pages of
 * these origins, or a page of a stranger's could have people click in it without their seeing it.
 */
export function portalHeaders(frameAncestors: readonly string[]): readonly RequestHandler[] {
  return [pagePolicy(frameAncestors), ...(frameAncestors.length > 0 ? [allowFrames] : [])];
}

function pagePolicy(frameAncestors: readonly string[]): RequestHandler {
  return contentSecurityPolicy({
    useDefaults: false,
    directives: {
      'default-src': ["'none'"],
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'img-src': ["'self'", 'data:'],
      'font-src': ["'self'"],
      'connect-src': ["'self'"],
      'base-uri': ["'none'"],
      'form-action': ["'none'"],
      'frame-ancestors': frameAncestors.length > 0 ? frameAncestors : ["'none'"],
    },
  });
}

// Neither can name an origin: the policy alone says who may.
const allowFrames: RequestHandler = (_request, response, next) => {
  response.removeHeader('x-frame-options');
  response.removeHeader('cross-origin-opener-policy');
  next();
};
