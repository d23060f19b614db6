import type { Principal, Scope } from '@hookferry/core/domain/account';
import type { TraceContext } from '@hookferry/core/domain/trace';
import type { EndpointsVersion } from '@hookferry/core/endpoints/subscriptions';
import type { ErrorCode } from '@hookferry/core/platform/app-error';
import type { NewId, SecretBytes } from '@hookferry/core/platform/ids';
import type { Connection } from '@hookferry/core/platform/recheck';
import { z } from 'zod';
import type { ApiContext } from '../context';
import type { JsonPath } from './json-walk';

/** What a route says of the requests that it takes. What it leaves out must not be sent. */
export interface RequestShape {
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  /** A function of the context where it depends on settings. Its description does not. */
  readonly body?: z.ZodType | ((context: ApiContext) => z.ZodType);
  /** What clients are told of the body, where the route looks closer at it than `body` does. */
  readonly describedBody?: z.ZodType;
  /**
   * The body has events, whose `data` is the client's own: it may have many values, and is delivered as it was written,
   * whatever its members.
   */
  readonly hasEventData?: true;
  /** Where in the body the texts are that the handler needs as they were written: of each event's data. */
  readonly dataAt?: JsonPath;
  /** A request without a body is one with `{}`. */
  readonly mayLackBody?: true;
}

/** A request that was authenticated and has the declared shape. */
export interface RouteRequest<Shape extends RequestShape = RequestShape> {
  readonly params: Parsed<Shape['params']>;
  readonly query: Parsed<Shape['query']>;
  readonly body: Parsed<Shape['body']>;
  /** What stands in the body at `dataAt`, byte for byte; empty where there is nothing. */
  readonly dataTexts: readonly string[];
  /** Whom it comes from. Its account is the one that the request is for. Not there where the scope is `none`. */
  readonly apiKey: Principal;
  /** Of its account's endpoints, for what publishes, if it could be read together with the key. */
  readonly endpointsVersion: Promise<EndpointsVersion> | undefined;
  /** A header of the request, by its name in lower case. */
  readonly header: (name: string) => string | undefined;
  readonly requestId: string;
  /** Where it comes from; `undefined` once its socket is closed. */
  readonly clientAddress: () => string | undefined;
  /** What it was sent to, such as `https://hooks.example.com`. @throws AppError `malformed_request` when it names no host. */
  readonly origin: () => string;
  /** Its place in a trace, for what it makes; `undefined` where traces are not wanted. */
  readonly trace: TraceContext | undefined;
  /** Counts what it asks for beside itself, such as each further event, by the rate limit. */
  readonly spend: (points: number) => Promise<void>;
  /** For what the request makes: gives the same ids when a request with an Idempotency-Key is worked on again. */
  readonly newId: NewId;
  /** For secrets of what it makes; the same ones likewise. */
  readonly secretBytes: SecretBytes;
  /** When it came in; the first time, if it has an Idempotency-Key. Milliseconds since the Unix epoch. */
  readonly receivedAt: number;
}

type Parsed<Schema> = Schema extends z.ZodType
  ? z.infer<Schema>
  : Schema extends (context: ApiContext) => infer Made
    ? Made extends z.ZodType
      ? z.infer<Made>
      : undefined
    : undefined;

type SuccessStatus = 200 | 201 | 202 | 204;

/** What clients are told of an answer. Without a schema it has no body. */
export interface DeclaredResponse {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** Whether the schema is that of each line, of which there are as many as there are. */
  readonly isLines?: true;
  /** Whether the schema is that of each of the server-sent events, of which there are as many as there are. */
  readonly isEvents?: true;
}

/** An answer that comes in parts. Who makes them may close the connection of a client that does not take them. */
export type Parts = (connection: Connection) => AsyncIterable<string>;

export interface RouteReply {
  readonly status: SuccessStatus;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Instead of `body`: what is JSON already, and is to stay as it is. */
  readonly bodyText?: string;
  /** Instead of `body`: lines of JSON, some at a time. */
  readonly lines?: Parts;
  /** Instead of `body`: server-sent events, as they are sent. */
  readonly events?: Parts;
}

export interface Route<Shape extends RequestShape = RequestShape> {
  /** Its name in the API's description, and thereby in generated clients. */
  readonly operationId: string;
  readonly summary: string;
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  readonly path: `/v1/${string}`;
  /** What the API key must be allowed to do; `any`: whatever it may do; `none`: there need be no key. */
  readonly scope: Scope | 'any' | 'none';
  /** Only for keys of the operator's account. */
  readonly operatorOnly?: true;
  /** It shows or changes a secret that is there already: a portal session needs the capability `secrets` beside the scope. */
  readonly handlesSecret?: true;
  readonly request: Shape;
  /** It makes something, so clients may send an Idempotency-Key; what it makes has its ids from `newId`. */
  readonly creates?: true;
  /** It stores something of the account, which must have room: an event, or anything else. */
  readonly stores?: 'event' | 'other';
  readonly responses: Readonly<Partial<Record<SuccessStatus, DeclaredResponse>>>;
  /** Errors of its own, beside those that follow from the rest: see `problem-responses.ts`. */
  readonly problems?: readonly ErrorCode[];
  /** Any request of it may take much of the processor: one at a time is worked on, and accounts take turns. */
  readonly isHeavy?: true;
  /** Instead of the limit that all have. */
  readonly maxBodyBytes?: number;
  handle(request: RouteRequest<Shape>, context: ApiContext): Promise<RouteReply>;
}

/** Lets the handler's types follow from the declared shape. */
export function defineRoute<Shape extends RequestShape>(route: Route<Shape>): Route {
  return route;
}

/** For what a route does not declare: nothing may be sent there. */
export const nothing = z.strictObject({});
