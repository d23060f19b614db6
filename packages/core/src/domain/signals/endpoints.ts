import type { AccountId } from '../account';
import type { ContactKind, NotificationId, NotificationTopic } from '../contact';
import type { DisabledReason, EndpointId } from '../endpoint';
import type { VerificationError, VerificationMethod } from '../verification';
import { signal } from './define';
import { accountId, endpointId, notificationId } from './sample-facts';

/** The result of a try to send a message to a contact. `retried`: it failed, and another try follows. */
export const notificationResults = ['sent', 'retried', 'failed', 'cancelled'] as const;
export type NotificationResult = (typeof notificationResults)[number];

/** Of endpoints, and of the people who own them. */
export const endpointSignals = {
  'signing_key.rotated': signal<{ accountId: AccountId; kid: string; immediate: boolean }>({
    level: 'info',
    means: 'An account got a new signing key. With `immediate` the earlier keys ended at once.',
    sample: { accountId, kid: 'kid', immediate: false },
  }),
  /** A message to a contact is to be sent. */
  'notification.queued': signal<{
    accountId: AccountId;
    notificationId: NotificationId;
    kind: ContactKind;
    topic: NotificationTopic;
  }>({
    level: 'info',
    means: 'A message to a contact waits to be sent; `topic` says what it is about.',
    sample: { accountId, notificationId, kind: 'email', topic: 'failing' },
  }),
  'notification.attempted': signal<{
    accountId: AccountId;
    notificationId: NotificationId;
    kind: ContactKind;
    topic: NotificationTopic;
    result: NotificationResult;
    /** In a closed form, without what the other side has written. */
    error?: string;
  }>({
    level: {
      usual: 'info',
      other: 'warn',
      isOther: ({ result }) => result === 'retried' || result === 'failed',
    },
    means:
      'A worker tried to send a message to a contact. `warn` if that failed; `error` says why. With `result` `retried` it tries again.',
    act: 'See [WebhooksNotificationsFail](runbook.md#webhooksnotificationsfail).',
    sample: { accountId, notificationId, kind: 'email', topic: 'failing', result: 'sent' },
  }),
  'listener.connected': signal<{ endpointId: EndpointId }>({
    level: 'info',
    means: 'A listener, such as `hookferry listen`, connected.',
    sample: { endpointId },
  }),
  'listener.lost': signal<{ endpointId: EndpointId; reason: string }>({
    level: 'info',
    means: 'The connection of a listener ended; `reason` says why.',
    sample: { endpointId, reason: 'it hung up' },
  }),
  'endpoint.created': signal<{ accountId: AccountId; endpointId: EndpointId }>({
    level: 'info',
    means: 'A webhook was registered.',
    sample: { accountId, endpointId },
  }),
  'endpoint.updated': signal<{ accountId: AccountId; endpointId: EndpointId }>({
    level: 'info',
    means: 'A webhook was changed.',
    sample: { accountId, endpointId },
  }),
  'endpoint.deleted': signal<{ accountId: AccountId; endpointId: EndpointId }>({
    level: 'info',
    means: 'A webhook was deleted. Its pending deliveries are cancelled.',
    sample: { accountId, endpointId },
  }),
  'endpoint.enabled': signal<{ accountId: AccountId; endpointId: EndpointId }>({
    level: 'info',
    means: 'A webhook was enabled. Its held deliveries are sent.',
    sample: { accountId, endpointId },
  }),
  'endpoint.disabled': signal<{ accountId: AccountId; endpointId: EndpointId; reason: DisabledReason }>({
    level: 'warn',
    means: 'A webhook was disabled; `reason` says why. Its deliveries are held.',
    sample: { accountId, endpointId, reason: 'gone' },
  }),
  /** Its receiver has proved that it wants the requests. */
  'endpoint.verified': signal<{ accountId: AccountId; endpointId: EndpointId; method: VerificationMethod }>({
    level: 'info',
    means: 'The receiver of a webhook proved that it wants its events.',
    sample: { accountId, endpointId, method: 'challenge' },
  }),
  'endpoint.verification_failed': signal<{
    accountId: AccountId;
    endpointId: EndpointId;
    method: VerificationMethod;
    error: VerificationError;
    /** Whether no other try is to come by itself. */
    isLast: boolean;
  }>({
    level: 'info',
    means:
      'A request to verify a webhook failed; `error` says why. With `is_last` there is no further one: the account has to ask for it.',
    sample: { accountId, endpointId, method: 'challenge', error: 'response_timeout', isLast: true },
  }),
} as const;
