import type { AuditAction } from '@hookferry/core/domain/audit';
import { t } from '@lingui/core/macro';
import type { AuditActor, AuditEntry } from '../../api/audit-queries';

/** Each action in words; TypeScript finds a missing one. */
export const ACTIONS: Readonly<Record<AuditAction, string>> = {
  'webhook.create': t`Webhook created`,
  'webhook.update': t`Webhook changed`,
  'webhook.delete': t`Webhook deleted`,
  'webhook.enable': t`Webhook enabled`,
  'webhook.disable': t`Webhook disabled`,
  'webhook.discard_held': t`Held deliveries discarded`,
  'webhook.rotate_secret': t`Secret rotated`,
  'webhook.test': t`Test event sent`,
  'webhook.verify': t`Verification asked for`,
  'webhook.put_transformation': t`Transformation changed`,
  'webhook.restore_transformation': t`Transformation restored`,
  'webhook.delete_transformation': t`Transformation deleted`,
  'signing_key.rotate': t`Signing key rotated`,
  'contact.create': t`Contact created`,
  'contact.update': t`Contact changed`,
  'contact.delete': t`Contact deleted`,
  'contact.ask_again': t`Contact asked again`,
  'contact.test': t`Test message sent to a contact`,
  'contact.confirm': t`Contact confirmed`,
  'contact.unsubscribe': t`Contact unsubscribed`,
  'listener.create': t`Listener created`,
  'delivery.redeliver': t`Delivery redelivered`,
  'replay.create': t`Replay started`,
  'replay.cancel': t`Replay cancelled`,
  'event.reschedule': t`Event rescheduled`,
  'event.cancel': t`Event cancelled`,
  'event.erase_payload': t`Payload erased`,
  'event_type.put': t`Event type changed`,
  'event_type.delete': t`Event type deleted`,
  'api_key.create': t`API key issued`,
  'api_key.rotate': t`API key rotated`,
  'api_key.revoke': t`API key revoked`,
  'session.create': t`Portal link made`,
  'session.login': t`Portal link opened`,
  'session.revoke': t`Portal session ended`,
  'account.create': t`Account created`,
  'account.update': t`Account changed`,
  'account.erase': t`Account erased`,
  'account.pause': t`Account paused`,
  'account.resume': t`Account resumed`,
  'dead_letter.retry': t`Dead letter retried`,
  'dead_letter.drop': t`Dead letter dropped`,
  'queue.pause': t`Queue paused`,
  'queue.resume': t`Queue resumed`,
  'encryption_key.reseal': t`Secrets sealed again`,
};

/** One that is newer than these pages goes by its name. */
export function actionText(action: string): string {
  return Object.hasOwn(ACTIONS, action) ? ACTIONS[action as AuditAction] : action;
}

/** With its id if it has no name. */
export function actorText(actor: AuditActor): string {
  return nameOfActor(actor) ?? ('id' in actor ? idText(actor) : t`Unknown`);
}

/** For places that show its id as well. `undefined`: it has only that. */
export function nameOfActor(actor: AuditActor): string | undefined {
  switch (actor.type) {
    case 'api_key':
      return actor.name;
    case 'portal_session':
      return actor.label;
    case 'admin_command':
      return commandText(actor.system_user, actor.command);
    case 'anonymous':
      return t`Unknown`;
  }
}

function idText({ type, id }: Extract<AuditActor, { readonly id: string }>): string {
  return type === 'api_key' ? t`API key ${id}` : t`Session ${id}`;
}

const commandText = (user: string, command: string) => t`${user}, by ${command}`;

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

/** The names of API keys, by id, as far as these entries tell them: of those that acted, and of those that were issued or revoked. */
export function keyNamesOf(entries: readonly AuditEntry[]): ReadonlyMap<string, string> {
  return new Map(
    entries.flatMap(({ actor, target, changes }) => [
      ...(actor.type === 'api_key' && actor.name !== undefined ? [[actor.id, actor.name] as const] : []),
      ...(target?.type === 'api_key'
        ? changes.flatMap(({ field, from, to }) => {
            const name = field === 'name' ? (to ?? from) : undefined;
            return typeof name === 'string' ? [[target.id, name] as const] : [];
          })
        : []),
    ]),
  );
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
