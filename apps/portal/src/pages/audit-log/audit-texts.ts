import type { AuditAction } from '@hookferry/core/domain/audit';
import type { AuditActor, AuditEntry } from '../../api/audit-queries';

/** Each action in words; TypeScript finds a missing one. */
export const ACTIONS: Readonly<Record<AuditAction, string>> = {
  'webhook.create': 'Webhook created',
  'webhook.update': 'Webhook changed',
  'webhook.delete': 'Webhook deleted',
  'webhook.enable': 'Webhook enabled',
  'webhook.disable': 'Webhook disabled',
  'webhook.discard_held': 'Held deliveries discarded',
  'webhook.rotate_secret': 'Secret rotated',
  'webhook.test': 'Test event sent',
  'webhook.verify': 'Verification asked for',
  'webhook.put_transformation': 'Transformation changed',
  'webhook.restore_transformation': 'Transformation restored',
  'webhook.delete_transformation': 'Transformation deleted',
  'signing_key.rotate': 'Signing key rotated',
  'contact.create': 'Contact created',
  'contact.update': 'Contact changed',
  'contact.delete': 'Contact deleted',
  'contact.ask_again': 'Contact asked again',
  'contact.test': 'Test message sent to a contact',
  'contact.confirm': 'Contact confirmed',
  'contact.unsubscribe': 'Contact unsubscribed',
  'listener.create': 'Listener created',
  'delivery.redeliver': 'Delivery redelivered',
  'replay.create': 'Replay started',
  'replay.cancel': 'Replay cancelled',
  'event.reschedule': 'Event rescheduled',
  'event.cancel': 'Event cancelled',
  'event.erase_payload': 'Payload erased',
  'event_type.put': 'Event type changed',
  'event_type.delete': 'Event type deleted',
  'api_key.create': 'API key issued',
  'api_key.rotate': 'API key rotated',
  'api_key.revoke': 'API key revoked',
  'session.create': 'Portal link made',
  'session.login': 'Portal link opened',
  'session.revoke': 'Portal session ended',
  'account.create': 'Account created',
  'account.update': 'Account changed',
  'account.erase': 'Account erased',
  'account.pause': 'Account paused',
  'account.resume': 'Account resumed',
  'dead_letter.retry': 'Dead letter retried',
  'dead_letter.drop': 'Dead letter dropped',
  'queue.pause': 'Queue paused',
  'queue.resume': 'Queue resumed',
  'encryption_key.reseal': 'Secrets sealed again',
};

/** One that is newer than these pages goes by its name. */
export function actionText(action: string): string {
  return Object.hasOwn(ACTIONS, action) ? ACTIONS[action as AuditAction] : action;
}

export function actorText(actor: AuditActor): string {
  switch (actor.type) {
    case 'api_key':
      return `API key ${actor.id}`;
    case 'portal_session':
      return actor.label ?? `Session ${actor.id}`;
    case 'admin_command':
      return `${actor.system_user}, by ${actor.command}`;
    case 'anonymous':
      return 'Unknown';
  }
}

/** The filter for the entries of one actor. */
export function actorFilter(actor: AuditActor): string {
  switch (actor.type) {
    case 'api_key':
    case 'portal_session':
      return actor.id;
    case 'admin_command':
      return actor.system_user;
    case 'anonymous':
      return actor.type;
  }
}

export function changedText({ changes }: AuditEntry): string {
  return changes.map(({ field }) => field).join(', ');
}

/** The page of a target; undefined: it has none. */
export function pageOfTarget({ target }: AuditEntry): string | undefined {
  const folder = target ? FOLDERS[target.type] : undefined;
  return folder && target ? `/${folder}/${encodeURIComponent(target.id)}` : undefined;
}

const FOLDERS: Readonly<Record<string, string>> = {
  webhook: 'webhooks',
  delivery: 'deliveries',
  replay: 'replays',
  event: 'events',
  event_type: 'event-types',
};
