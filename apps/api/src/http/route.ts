import type { Capability, Principal, Scope } from '@hookferry/core/domain/account';
import type { Act, AuditAction } from '@hookferry/core/domain/audit';
import type { TraceContext } from '@hookferry/core/domain/trace';
import type { ErrorCode } from '@hookferry/core/platform/app-error';
import type { NewId, SecretBytes } from '@hookferry/core/platform/ids';
import type { Connection } from '@hookferry/core/platform/recheck';
import type { Premise } from '@hookferry/core/publish/publishing-parts';
import { z } from 'zod';
import type { ApiContext } from '../context';
import type { Deprecation } from './deprecation';
import type { JsonPath } from './json-walk';

/** The parts of a route's requests. A part that is absent must not be sent. */
export interface RequestShape {
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  /** A function of the context where it depends on settings. Its description does not. */
  readonly body?: z.ZodType | ((context: ApiContext) => z.ZodType);
  /** The documented body, where the route checks more closely than `body`. */
  readonly describedBody?: z.ZodType;
  /** A body that the route takes as it stands, for the description. */
  readonly example?: unknown;
  /**
   * The body has events, whose `data` is the client's own: it may have many values, and is delivered as it
   * was written, whatever its members.
   */
  readonly hasEventData?: true;
  /** The path of the texts in the body that the handler needs unchanged: of each event's data. Empty: the whole body. */
  readonly dataAt?: JsonPath;
  /** A request without a body counts as `{}`. */
  readonly mayLackBody?: true;
}

/** A request that was authenticated and has the declared shape. If it publishes: with what is known of its account. */
export interface RouteRequest<Shape extends RequestShape = RequestShape> extends Premise {
  readonly params: Parsed<Shape['params']>;
  readonly query: Parsed<Shape['query']>;
  readonly body: Parsed<Shape['body']>;
  /** The texts in the body at `dataAt`, byte for byte; empty if absent. */
  readonly dataTexts: readonly string[];
  /** The sender. Its account is the one that the request is for. Absent where the scope is `none`. */
  readonly apiKey: Principal;
  /** What it does, for the audit log. Absent where its route names no action. */
  readonly act: Act;
  /** A header of the request, by its name in lower case. */
  readonly header: (name: string) => string | undefined;
  /** Those whose names begin so, in lower case. */
  readonly headersWith: (prefix: string) => Readonly<Record<string, string>>;
  readonly requestId: string;
  /** The client's address; `undefined` once its socket is closed. */
  readonly clientAddress: () => string | undefined;
  /**
   * The origin that it was sent to, such as `https://hooks.example.com`. @throws AppError `malformed_request`
   * when it names no host.
   */
  readonly origin: () => string;
  /** Its position in a trace, for the objects that it makes; `undefined` where traces are not wanted. */
  readonly trace: TraceContext | undefined;
  /** Count further points by the rate limit, such as one for each further event. */
  readonly spend: (points: number) => Promise<void>;
  /** For new objects: gives the same ids when a request with an Idempotency-Key is repeated. */
  readonly newId: NewId;
  /** For secrets of new objects; the same ones likewise. */
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

type SuccessStatus = 200 | 201 | 202 | 204 | 207 | 304;

/** A documented response. Without a schema it has no body. */
export interface DeclaredResponse {
  readonly description: string;
  readonly schema?: z.ZodType;
  /** Whether the schema describes each line, of any number of lines. */
  readonly isLines?: true;
  /** Whether the schema describes each server-sent event, of any number of events. */
  readonly isEvents?: true;
}

/** A response in parts. Its producer may close the connection of a client that does not read them. */
export type Parts = (connection: Connection) => AsyncIterable<string>;

export interface RouteReply {
  readonly status: SuccessStatus;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Instead of `body`: JSON text that must stay unchanged. */
  readonly bodyText?: string;
  /** Instead of `body`: lines of JSON, some at a time. */
  readonly lines?: Parts;
  /** Instead of `body`: server-sent events, as they are sent. */
  readonly events?: Parts;
}

/** A form of a body that a route takes beside its own. All else is as in the route. */
export interface BodyForm {
  readonly mediaType: string;
  /** What the description of the API says of it. */
  readonly description?: string;
  /** Requests of the route's own media type are in this form if they have the header; those with the prefix belong to it. */
  readonly header?: { readonly name: string; readonly prefix: string };
  readonly request: Pick<RequestShape, 'body' | 'describedBody' | 'example' | 'hasEventData' | 'dataAt'>;
  /** Instead of the common limit. */
  readonly maxBodyBytes?: number;
  handle(request: RouteRequest<{ body: z.ZodUnknown }>, context: ApiContext): Promise<RouteReply>;
}

/** @template Modules what its capability has opened beside the core, if it belongs to one. */
export type Route<Shape extends RequestShape = RequestShape, Modules extends object = object> = RouteFacts<
  Shape,
  Modules
> &
  (Reading | Acting);

interface Reading {
  readonly method: 'get';
  readonly audit?: never;
}

/** A route that changes something names its action in the audit log, or the reason why it has none. */
interface Acting {
  readonly method: 'post' | 'put' | 'patch' | 'delete';
  /**
   * The handler hands its `act` to the step that makes the change, or records it with `auditLog.record`. The mounting
   * records refusals.
   */
  readonly audit: AuditAction | NotAudited;
}

interface NotAudited {
  readonly notAudited: string;
}

interface RouteFacts<Shape extends RequestShape, Modules extends object> {
  /** Its name in the API's description, and in generated clients. */
  readonly operationId: string;
  readonly summary: string;
  readonly path: `/v1/${string}` | `/.well-known/${string}`;
  /** The scope that the API key needs; `any`: any scope; `none`: no key is needed. */
  readonly scope: Scope | 'any' | 'none';
  /** A route without a scope that needs no other credential either: it shows public facts. */
  readonly isPublic?: true;
  /** Asked every few seconds by anybody: neither counted nor logged. */
  readonly isProbe?: true;
  /** Only for keys of the operator's account. */
  readonly operatorOnly?: true;
  /**
   * It shows or changes an existing secret: a portal session needs the capability `secrets` beside the scope.
   */
  readonly handlesSecret?: true;
  /** The capability that a portal session needs instead of the scope. */
  readonly capability?: Capability;
  readonly request: Shape;
  /** It will go away: its responses and its description say so. */
  readonly deprecated?: Deprecation;
  /** It makes an object, so clients may send an Idempotency-Key; the object's ids come from `newId`. */
  readonly creates?: true;
  /** It stores data of the account, which must have room: an event, or anything else. */
  readonly stores?: 'event' | 'other';
  /**
   * It may begin by what the process knows of its key and account: it stores nothing unless its request's
   * assumption holds.
   */
  readonly mayAssume?: true;
  readonly responses: Readonly<Partial<Record<SuccessStatus, DeclaredResponse>>>;
  /** Errors of its own, beside those that follow from the rest: see `openapi/operation.ts`. */
  readonly problems?: readonly ErrorCode[];
  /** Any request of it may take much processor time: one at a time runs, and accounts take turns. */
  readonly isHeavy?: true;
  /** Instead of the common limit. */
  readonly maxBodyBytes?: number;
  /** Other forms that its body may have. */
  readonly otherForms?: readonly BodyForm[];
  handle(request: RouteRequest<Shape>, core: ApiContext & Modules): Promise<RouteReply>;
}

/** Derives the handler's types from the declared shape. */
export function defineRoute<Shape extends RequestShape, Modules extends object = object>(
  route: Route<Shape, Modules>,
): Route<RequestShape, Modules> {
  return route;
}

/** For parts that a route does not declare: nothing may be sent there. */
export const nothing = z.strictObject({});

/** The action of a route in the audit log; `undefined`: it is not logged. */
export function actionOf({ audit }: Pick<Route, 'audit'>): AuditAction | undefined {
  return typeof audit === 'string' ? audit : undefined;
}
