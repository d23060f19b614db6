import { z } from 'zod';
import { type AccountId, accountIdSchema } from './account';

/**
 * What can be recorded: `<noun>.<verb>`. The noun is the type of the target as well. A new one goes behind those of its
 * noun.
 */
export type AuditAction =
  | 'webhook.create'
  | 'webhook.update'
  | 'webhook.delete'
  | 'webhook.enable'
  | 'webhook.disable'
  | 'webhook.discard_held'
  | 'webhook.rotate_secret'
  | 'webhook.test'
  | 'webhook.put_transformation'
  | 'webhook.restore_transformation'
  | 'webhook.delete_transformation'
  | 'webhook.verify'
  | 'signing_key.rotate'
  | 'contact.create'
  | 'contact.update'
  | 'contact.delete'
  | 'contact.ask_again'
  | 'contact.test'
  | 'contact.confirm'
  | 'contact.unsubscribe'
  | 'listener.create'
  | 'delivery.redeliver'
  | 'replay.create'
  | 'replay.cancel'
  | 'event.reschedule'
  | 'event.cancel'
  | 'event.erase_payload'
  | 'event_type.put'
  | 'event_type.delete'
  | 'api_key.create'
  | 'api_key.rotate'
  | 'api_key.revoke'
  | 'session.create'
  | 'session.login'
  | 'session.revoke'
  | 'account.create'
  | 'account.update'
  | 'account.erase'
  | 'account.pause'
  | 'account.resume'
  | 'dead_letter.retry'
  | 'dead_letter.drop'
  | 'queue.pause'
  | 'queue.resume'
  | 'encryption_key.reseal';

/** Who did it. `anonymous`: somebody without a valid key, who was refused. */
export const auditActorSchema = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('api_key').describe('A program with an API key.'),
      id: z.string().describe('The id of the API key.'),
      name: z
        .string()
        .optional()
        .describe('The name of the API key. Absent: it is a key of the operator that acted for an account.'),
    }),
    z.object({
      type: z.literal('portal_session').describe('A person in the portal.'),
      id: z.string().describe('The id of the portal session.'),
      label: z.string().optional().describe('The label of the portal session. Absent: it has none.'),
    }),
    z.object({
      type: z.literal('admin_command').describe('An operator at a command line.'),
      command: z.string().describe('The name of the command, without its arguments.'),
      system_user: z.string().describe('The user name on the machine where the command ran.'),
    }),
    z.object({ type: z.literal('anonymous').describe('A client without a valid API key.') }),
  ])
  .meta({ id: 'AuditActor' });
export type AuditActor = Readonly<z.infer<typeof auditActorSchema>>;

/** A field that an act has changed. Without values where they may be secret; an absent one was, or is, not set. */
export const fieldChangeSchema = z
  .object({
    field: z
      .string()
      .describe(
        'The name of the field in the API, such as `url`, or `headers.x-token` for a member of an object.',
      ),
    from: z
      .unknown()
      .optional()
      .describe('The value before the change. Absent: it was not set, or it may be secret.'),
    to: z
      .unknown()
      .optional()
      .describe('The value after the change. Absent: it is not set, or it may be secret.'),
  })
  .meta({ id: 'FieldChange' });
export type FieldChange = Readonly<z.infer<typeof fieldChangeSchema>>;

export const AUDIT_ID_PREFIX = 'aud';

export const auditIdSchema = z
  .string()
  .regex(/^aud_[0-9a-z]{22}$/, 'must be the id of an entry: aud_ and 22 of 0-9 a-z');

/** An entry of the audit log as it is stored, in Redis and in the history. */
export const auditEntrySchema = z.object({
  id: auditIdSchema,
  /** Whose log it is in. Absent: the operator's alone. */
  accountId: accountIdSchema.optional(),
  /** Milliseconds since the Unix epoch. */
  at: z.number(),
  actor: auditActorSchema,
  action: z.string(),
  targetId: z.string().optional(),
  /** The code of its refusal; absent: it was done. */
  code: z.string().optional(),
  /** The client's, as far as it can be trusted: see TRUST_PROXY. */
  address: z.string().optional(),
  /** The service's own. Earlier versions wrote the client's here, if it had sent one. */
  requestId: z.string().optional(),
  clientRequestId: z.string().optional(),
  changes: z.array(fieldChangeSchema).readonly().optional(),
});
export type AuditEntry = Readonly<z.infer<typeof auditEntrySchema>>;

/** How much of the audit log is kept in Redis. */
export interface AuditBounds {
  /** Of an account. */
  readonly count: number;
  readonly ageMs: number;
}

/** An action that is about to happen, with the facts that are known before it. */
export interface Act
  extends Pick<AuditEntry, 'id' | 'at' | 'actor' | 'address' | 'requestId' | 'clientRequestId'> {
  readonly action: AuditAction;
  readonly bounds: AuditBounds;
  /** The own account of the key or session that acts. Absent: it is neither. */
  readonly actorAccountId?: AccountId;
  /** Called once it is done and recorded. */
  readonly onRecorded?: (entry: AuditEntry) => void;
}

/** The object of an action, as the API and `audit.recorded` show it. */
export const auditTargetSchema = z
  .object({
    type: z.string().describe('The kind of the object: the noun of the action.'),
    id: z.string().describe('The id of the object.'),
  })
  .meta({ id: 'AuditTarget' });

/** `webhook.update` is about a `webhook`. */
export function auditTargetOf(action: string, targetId: string | undefined) {
  return targetId === undefined ? null : { type: action.split('.', 1)[0] ?? action, id: targetId };
}
