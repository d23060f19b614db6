export { type ApiErrorCode, type Fault, WebhooksApiError } from './api-error';
export type {
  Call,
  CallOptions,
  Data,
  Init,
  InitArguments,
  Item,
  ListPath,
  Method,
  PathWith,
} from './call-types';
export { type Client, createClient } from './client';
export { type ConnectionErrorCode, WebhooksConnectionError } from './connection-error';
export type { ExportedAttempt, ExportQuery } from './export-deliveries';
export { CLIENT_VERSION, type ClientOptions, type Retry } from './options';
export type { components, operations, paths } from './schema';
export type { Change, ChangesQuery, StreamedChange } from './stream-changes';
export type { ListenerLine, ListenerQuery } from './stream-listener';
