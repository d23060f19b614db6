import { z } from 'zod';
import { accountIdSchema } from './account';

/**
 * What can be recorded: `<noun>.<verb>`. The noun is the type of the target as well. A new one goes behind those of its
 * noun.
 */
export const auditActions = [
  'webhook.create',
  'webhook.update',
  'webhook.delete',
  'webhook.enable',
  'webhook.disable',
  'webhook.rotate_secret',
  'webhook.test',
  'webhook.put_transformation',
  'webhook.restore_transformation',
  'webhook.delete_transformation',
  'webhook.verify',
  'signing_key.rotate',
  'contact.create',
  'contact.update',
  'contact.delete',
  'contact.ask_again',
  'contact.confirm',
  'contact.unsubscribe',
  'listener.create',
  'delivery.redeliver',
  'replay.create',
  'replay.cancel',
  'event.reschedule',
  'event.cancel',
  'event.erase_payload',
  'event_type.put',
  'event_type.delete',
  'api_key.create',
  'api_key.revoke',
  'session.create',
  'session.login',
  'session.revoke',
  'account.create',
  'account.update',
  'account.erase',
  'dead_letter.redrive',
  'dead_letter.drop',
  'queue.pause',
  'queue.resume',
] as const;
export const auditActionSchema = z.enum(auditActions).meta({ id: 'AuditAction' });
export type AuditAction = z.infer<typeof auditActionSchema>;

/** Who did it. `anonymous`: somebody without a valid key, who was refused. */
export const auditActorSchema = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('api_key').describe('A program.'),
      id: z.string().describe('The id of its key.'),
    }),
    z.object({
      type: z.literal('portal_session').describe('Somebody in the portal.'),
      id: z.string().describe('The id of the session.'),
      label: z.string().optional().describe('Who the session is for, as its maker has put it.'),
    }),
    z.object({
      type: z.literal('admin_command').describe('Somebody at a command line of the operator.'),
      command: z.string().describe('The command, without its arguments.'),
      system_user: z.string().describe('Who ran it, by the name on that machine.'),
    }),
    z.object({ type: z.literal('anonymous').describe('Somebody without a valid key.') }),
  ])
  .meta({ id: 'AuditActor' });
export type AuditActor = Readonly<z.infer<typeof auditActorSchema>>;

/** A field that an act has changed. Without values where they may be secret; an absent one was, or is, not set. */
export const fieldChangeSchema = z
  .object({
    field: z.string().describe('Its name in the API; `headers.x-token` for a member of an object.'),
    from: z.unknown().optional().describe('Its value before. Absent: it was not set, or may be secret.'),
    to: z.unknown().optional().describe('Its value since. Absent: it is not set, or may be secret.'),
  })
  .meta({ id: 'FieldChange' });
export type FieldChange = Readonly<z.infer<typeof fieldChangeSchema>>;

export const AUDIT_ID_PREFIX = 'aud';

export const auditIdSchema = z.string().regex(/^aud_[0-9a-z]{22}$/);

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
  requestId: z.string().optional(),
  changes: z.array(fieldChangeSchema).readonly().optional(),
});
export type AuditEntry = Readonly<z.infer<typeof auditEntrySchema>>;

/** How much of the audit log is kept in Redis. */
export interface AuditBounds {
  /** Of an account. */
  readonly count: number;
  readonly ageMs: number;
}

/** What somebody is about to do, as far as it is known before it is done. */
export interface Act extends Pick<AuditEntry, 'id' | 'at' | 'actor' | 'address' | 'requestId'> {
  readonly action: AuditAction;
  readonly bounds: AuditBounds;
  /** Called once it is done, and on record. */
  readonly onRecorded?: (entry: AuditEntry) => void;
}

/** `webhook.update` is about a `webhook`. */
export function targetTypeOf(action: string): string {
  return action.split('.', 1)[0] ?? action;
}
