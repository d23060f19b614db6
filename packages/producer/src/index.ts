export type { BuiltInEvents } from './built-in-events';
export type { CheckEvent, EventFault } from './check-event';
export type { EventInput } from './event';
export {
  type BatchResult,
  createEventPublisher,
  type EventPublisher,
  type Published,
  type PublisherOptions,
} from './event-publisher';
export { PublishError, type PublishErrorCode } from './publish-error';
