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

/** What a request is made of, by the API's description: `params`, `body`. */
export type Init<P extends PathWith<M>, M extends Method> = CallOptions &
  ParamsOf<Operation<P, M>> &
  BodyOf<Operation<P, M>>;

/** What the response brings; undefined where it brings nothing. */
export type Data<P extends PathWith<M>, M extends Method> =
  Operation<P, M> extends { responses: infer R } ? DataOf<R, keyof R & SuccessStatus> : never;

/** The init may be left out where nothing in it is required. */
export type InitArguments<I> = object extends I ? [init?: I] : [init: I];

export type Call<M extends Method> = <P extends PathWith<M>>(
  path: P,
  ...init: InitArguments<Init<P, M>>
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

type DataOf<R, S extends keyof R> = S extends keyof R
  ? R[S] extends { content: infer C }
    ? C[keyof C]
    : undefined
  : never;
