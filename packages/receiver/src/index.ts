export type { RawBody } from './body';
export type { DedupeStore } from './dedupe-store';
export type { CloudEventAttributes, EventOf, SignedHeaders, VerifiedRequest, WebhookEvent } from './event';
export type { RequestHeaders } from './headers';
export { type MemoryStoreOptions, memoryStore } from './memory-store';
export { type ReceiverResponse, responses } from './responses';
export type { Secrets, SignatureVerifier, SignedMessage } from './secrets';
export { type VerificationErrorCode, WebhookVerificationError } from './verification-error';
export {
  type CheckOptions,
  type RequestToVerify,
  type ServiceHeader,
  type VerifyInput,
  type VerifyOptions,
  verify,
  verifyEvents,
  verifySignature,
} from './verify';
