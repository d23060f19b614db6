import { type AnyInit, createSendCall, readBody, readPage } from './call';
import type { AnyEvents, Call, CallOptions, Init, InitArguments, Item, ListPath, Method } from './call-types';
import {
  EXPORT_PATH,
  type ExportedAttempt,
  type ExportQuery,
  readExport,
  silenceMsFor,
} from './export-deliveries';
import { type ClientOptions, checkOptions } from './options';
import { type PaginateOptions, paginate } from './paginate';
import { CHANGES_PATH, type Change, type ChangesQuery, streamChanges } from './stream-changes';
import { type ListenerLine, type ListenerQuery, STREAM_PATH, streamListener } from './stream-listener';

/**
 * Every call resolves with the response's data. `Events` declares the type of the data of each event type: publishing is
 * checked by it at compile time. `hookferry types generate --lang ts` writes it.
 *
 * @throws WebhooksApiError if the service refuses the request
 * @throws WebhooksConnectionError if no response came
 * @throws TypeError if a parameter of the path is missing
 */
export interface Client<Events extends object = AnyEvents> {
  readonly GET: Call<'get'>;
  readonly POST: Call<'post', Events>;
  readonly PUT: Call<'put'>;
  readonly PATCH: Call<'patch'>;
  readonly DELETE: Call<'delete'>;
  /** The items of all pages of a list. A page is requested when the loop reaches it. `limit` is the length of a page. */
  paginate<P extends ListPath>(
    path: P,
    ...init: InitArguments<Init<P, 'get'> & PaginateOptions>
  ): AsyncGenerator<Item<P>, void, undefined>;
  /** Every recorded attempt, whole lines only. After a broken connection it continues after the last line. */
  exportDeliveries(
    query?: ExportQuery,
    options?: Pick<CallOptions, 'signal'>,
  ): AsyncGenerator<ExportedAttempt, void, undefined>;
  /**
   * The changes of the account, as they happen. `ready`: no later change is missing. `reset`: changes are missing, so read
   * everything again. It reconnects by itself and continues where it was, until the signal aborts or the service refuses it.
   */
  streamChanges(
    query?: ChangesQuery,
    options?: Pick<CallOptions, 'signal'>,
  ): AsyncGenerator<Change, void, undefined>;
  /** Connects a listener. Gives its messages, line by line, until either side ends it. It does not reconnect by itself. */
  streamListener(
    id: string,
    query?: ListenerQuery,
    options?: Pick<CallOptions, 'signal'>,
  ): AsyncGenerator<ListenerLine, void, undefined>;
}

/**
 * A client for one service and one API key. It keeps no connection open, so it needs no closing.
 *
 * @throws TypeError if an option is not valid
 */
export function createClient<Events extends object = AnyEvents>(options: ClientOptions): Client<Events> {
  const checked = checkOptions(options);
  const sendCall = createSendCall(checked);
  const call = async (method: Method, path: string, init?: AnyInit): Promise<unknown> =>
    await readBody(`${method.toUpperCase()} ${path}`, await sendCall(method, path, false, init));
  const callBy = (method: Method) => (path: string, init?: AnyInit) => call(method, path, init);

  // The types of paths, parameters and responses come from the API's description. The code is the same for all.
  return {
    GET: callBy('get'),
    POST: callBy('post'),
    PUT: callBy('put'),
    PATCH: callBy('patch'),
    DELETE: callBy('delete'),
    paginate: (path: string, init?: AnyInit & PaginateOptions) =>
      paginate(async (page) => await readPage(`GET ${path}`, await sendCall('get', path, false, page)), init),
    exportDeliveries: (query: ExportQuery = {}, { signal }: Pick<CallOptions, 'signal'> = {}) =>
      readExport((init) => sendCall('get', EXPORT_PATH, true, init), query, signal, {
        ...checked,
        silenceMs: silenceMsFor(checked),
      }),
    streamChanges: (query: ChangesQuery = {}, { signal }: Pick<CallOptions, 'signal'> = {}) =>
      streamChanges((init) => sendCall('get', CHANGES_PATH, true, init), query, {
        ...checked,
        silenceMs: silenceMsFor(checked),
        signal,
      }),
    streamListener: (id: string, query: ListenerQuery = {}, { signal }: Pick<CallOptions, 'signal'> = {}) =>
      streamListener((init) => sendCall('get', STREAM_PATH, true, init), id, query, {
        silenceMs: silenceMsFor(checked),
        signal,
      }),
  } as Client as unknown as Client<Events>;
}
