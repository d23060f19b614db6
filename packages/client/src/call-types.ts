import type { paths } from './schema';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** Every path but the export's, whose response is no JSON: that is `exportDeliveries`. */
export type ApiPaths = Omit<paths, '/v1/deliveries/export'>;

/** The paths that have this method. */
export type PathWith<M extends Method> = {
  [P in keyof ApiPaths]: ApiPaths[P] extends { [K in M]: object } ? P : never;
}[keyof ApiPaths];

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the call, its retries and its waits. */
  readonly signal?: AbortSignal;
  /** Given the status and the headers of the response that the data came with: an `ETag`, say. */
  readonly onResponse?: (response: { readonly status: number; readonly headers: Headers }) => void;
}

/** Any event types, whose data are not checked. */
export type AnyEvents = Record<string, unknown>;

/**
 * What a request is made of, by the API's description: `params`, `body`. `Events` declares the type of the data that is
 * published for each event type.
 */
export type Init<P extends PathWith<M>, M extends Method, Events extends object = AnyEvents> = CallOptions &
  ParamsOf<Operation<P, M>> &
  (string extends keyof Events ? BodyOf<Operation<P, M>> : TypedBody<P, BodyOf<Operation<P, M>>, Events>);

/** What the response brings; undefined where it brings nothing. */
export type Data<P extends PathWith<M>, M extends Method> =
  Operation<P, M> extends { responses: infer R } ? DataOf<R, keyof R & SuccessStatus> : never;

/** The init may be left out where nothing in it is required. */
export type InitArguments<I> = object extends I ? [init?: I] : [init: I];

export type Call<M extends Method, Events extends object = AnyEvents> = <P extends PathWith<M>>(
  path: P,
  ...init: InitArguments<Init<P, M, Events>>
) => Promise<Data<P, M>>;

/** The lists that come in pages. */
export type ListPath = {
  [P in PathWith<'get'>]: Data<P, 'get'> extends Page<unknown> ? P : never;
}[PathWith<'get'>];

export type Item<P extends ListPath> = Data<P, 'get'> extends Page<infer I> ? I : never;

export interface Page<I> {
  data: I[];
  next_cursor: string | null;
  history?: 'unavailable' | null;
}

type SuccessStatus = 200 | 201 | 202 | 204;
type Operation<P extends PathWith<M>, M extends Method> = P extends keyof ApiPaths
  ? M extends keyof ApiPaths[P]
    ? ApiPaths[P][M]
    : never
  : never;

type ParamsOf<O> = O extends { parameters: infer P }
  ? object extends P
    ? { readonly params?: P }
    : { readonly params: P }
  : never;

/** What the client sends. */
type SentType = 'application/json' | 'application/merge-patch+json';
type BodyOf<O> = O extends { requestBody: { content: infer C } }
  ? { readonly body: C[keyof C & SentType] }
  : O extends { requestBody?: { content: infer C } }
    ? { readonly body?: C[keyof C & SentType] }
    : { readonly body?: never };

type TypedBody<P, Given, Events extends object> = Given extends { readonly body: infer Body }
  ? P extends '/v1/events'
    ? { readonly body: EventBody<Body, Events> }
    : P extends '/v1/events/batch'
      ? Body extends { events: readonly (infer One)[] }
        ? { readonly body: Omit<Body, 'events'> & { readonly events: EventBody<One, Events>[] } }
        : Given
      : Given
  : Given;

type EventBody<Body, Events extends object> = {
  [Type in keyof Events & string]: Omit<Body, 'type' | 'data'> & {
    readonly type: Type;
    readonly data: Events[Type];
  };
}[keyof Events & string];

type DataOf<R, S extends keyof R> = S extends keyof R
  ? R[S] extends { content: infer C }
    ? C[keyof C]
    : undefined
  : never;
