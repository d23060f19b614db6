export { type ApiErrorCode, type Fault, WebhooksApiError } from './api-error.js';
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
} from './call-types.js';
export { type Client, createClient } from './client.js';
export { type ConnectionErrorCode, WebhooksConnectionError } from './connection-error.js';
export type { ExportedAttempt, ExportQuery } from './export-deliveries.js';
export { CLIENT_VERSION, type ClientOptions, type Retry } from './options.js';
export type { components, operations, paths } from './schema.js';
