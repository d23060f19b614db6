const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT'] as const;

/** As OpenTelemetry calls all others. */
export const OTHER_METHOD = '_OTHER';

export const httpMethods = [...METHODS, OTHER_METHOD] as const;

/** What the method of a request is told as, so that strangers can't make up names without end. */
export type HttpMethod = (typeof httpMethods)[number];

export function httpMethodOf(method: string): HttpMethod {
  return METHODS.find((known) => known === method) ?? OTHER_METHOD;
}
