import type { ApiKey, Scope } from '@webhooks/core/api-keys/api-key';
import { z } from 'zod';

/** What a route says of the requests that it takes. What it leaves out must not be sent. */
export interface RequestShape {
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
}

/** A request that was authenticated and has the declared shape. */
export interface RouteRequest<Shape extends RequestShape = RequestShape> {
  readonly params: Parsed<Shape['params']>;
  readonly query: Parsed<Shape['query']>;
  readonly body: Parsed<Shape['body']>;
  readonly apiKey: ApiKey;
  /** A header of the request, by its name in lower case. */
  readonly header: (name: string) => string | undefined;
  readonly requestId: string;
}

type Parsed<Schema> = Schema extends z.ZodType ? z.infer<Schema> : undefined;

export interface RouteReply {
  readonly status: 200 | 201 | 202 | 204;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Route<Shape extends RequestShape = RequestShape> {
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  readonly path: `/v1/${string}`;
  /** What the API key must be allowed to do. */
  readonly scope: Scope;
  readonly request: Shape;
  handle(request: RouteRequest<Shape>): Promise<RouteReply>;
}

/** Lets the handler's types follow from the declared shape. */
export function defineRoute<Shape extends RequestShape>(route: Route<Shape>): Route {
  return route;
}

/** For what a route does not declare: nothing may be sent there. */
export const nothing = z.strictObject({});
