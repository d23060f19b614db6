import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../platform/app-error';
import { type AccountId, accountIdSchema } from './account';
import { endpointIdSchema } from './endpoint';

/** How a contact gets messages. */
export const contactKinds = ['email', 'slack', 'teams', 'discord', 'webhook'] as const;
export const contactKindSchema = z.enum(contactKinds).meta({ id: 'ContactKind' });
export type ContactKind = z.infer<typeof contactKindSchema>;

/** The occasions of messages to contacts. */
export const occasions = [
  'failing',
  'disabling_in_24h',
  'disabling_in_1h',
  'disabled',
  'recovered',
  'quota_80',
  'quota_100',
  'dead_letters',
  'certificate_expiring',
  'receiver_certificate_expiring',
  'token_failing',
  'api_key_expiring',
  'signing_key_rotated',
] as const;
export const occasionSchema = z
  .enum(occasions, `must be one of ${occasions.join(', ')}`)
  .meta({ id: 'Occasion' });
export type Occasion = z.infer<typeof occasionSchema>;

const digests = ['hourly', 'daily'] as const;
export const digestSchema = z.enum(digests, 'must be hourly or daily').meta({ id: 'Digest' });
export type Digest = z.infer<typeof digestSchema>;

/** An unconfirmed contact gets one message, which asks whether it wants more. */
export const contactStatuses = ['unconfirmed', 'confirmed', 'unsubscribed'] as const;

export const CONTACT_ID_PREFIX = 'ct';
export const contactIdSchema = z
  .string()
  .regex(/^ct_[0-9a-z]{22}$/, 'must be the id of a contact: ct_ and 22 of 0-9 a-z')
  .brand<'ContactId'>();
export type ContactId = z.infer<typeof contactIdSchema>;

/** A contact as it is stored. Its target and its secret are sealed there. */
export const contactSchema = z.object({
  id: contactIdSchema,
  accountId: accountIdSchema,
  kind: contactKindSchema,
  /** An address of mail, or a URL, which may be as good as a password. */
  target: z.string(),
  /** Its links are derived from it. */
  secret: z.string(),
  /** Only messages about this endpoint; absent: about all of the account, and about the account itself. */
  endpointId: endpointIdSchema.optional(),
  /** Absent: all. */
  occasions: z.array(occasionSchema).readonly().optional(),
  /** Absent: messages are sent at once. */
  digest: digestSchema.optional(),
  /** Whose clock times in its messages are by, such as `Europe/Berlin`. Absent: UTC. */
  timeZone: z.string().optional(),
  status: z.enum(contactStatuses),
  /** When somebody wanted it to be asked once more. Milliseconds since the Unix epoch. */
  askedAt: z.number().optional(),
  /** When somebody wanted it to get a test message. Milliseconds since the Unix epoch. */
  testedAt: z.number().optional(),
  /** Milliseconds since the Unix epoch. */
  createdAt: z.number(),
  updatedAt: z.number(),
});
export type Contact = Readonly<z.infer<typeof contactSchema>>;

export function contactNotFound(): AppError {
  return new AppError('not_found', 'There is no contact with this id.');
}

export const NOTIFICATION_ID_PREFIX = 'ntf';
export const notificationIdSchema = z
  .string()
  .regex(/^ntf_[0-9a-z]{22}$/, 'must be the id of a notification: ntf_ and 22 of 0-9 a-z')
  .brand<'NotificationId'>();
export type NotificationId = z.infer<typeof notificationIdSchema>;

/** What a message is about: an occasion, the question whether the contact wants any, or nothing: a test. */
export const notificationTopics = ['confirmation', 'test', ...occasions] as const;
export type NotificationTopic = (typeof notificationTopics)[number];

/** `pending`: it is still to be sent; `cancelled`: its contact no longer wants it. */
export const notificationStatuses = ['pending', 'sent', 'failed', 'cancelled'] as const;

/** One thing that a message is about. */
const subjectSchema = z.object({
  /** Absent: it is about the account. */
  endpointId: endpointIdSchema.optional(),
  /** What its owner calls it. */
  name: z.string().optional(),
  /** What people know it by: the host of its URL, or the name of a key. */
  label: z.string().optional(),
  /** A closed form, such as `gone` or a time: nothing that a receiver or a customer has written. */
  detail: z.string().optional(),
  /** How the last attempt failed, in a closed form too: `HTTP 500`, or an outcome. */
  lastFailure: z.string().optional(),
});
export type Subject = Readonly<z.infer<typeof subjectSchema>>;

/** Nobody reads more, and each message is stored for each contact. The rest is given as a number. */
export const MOST_SUBJECTS = 50;

/** A message to one contact, as it is stored. Times in milliseconds since the Unix epoch. */
export const notificationSchema = z.object({
  id: notificationIdSchema,
  contactId: contactIdSchema,
  kind: contactKindSchema,
  topic: z.enum(notificationTopics),
  /** The first ones, at most `MOST_SUBJECTS`. */
  subjects: z.array(subjectSchema).readonly(),
  /** How many there are; absent: no more than in `subjects`. */
  subjectCount: z.int().optional(),
  status: z.enum(notificationStatuses),
  attempts: z.int(),
  /** Why the last attempt failed: a word of a closed list, and a status. */
  error: z.string().optional(),
  createdAt: z.number(),
  /** When it was sent, or given up. */
  endedAt: z.number().optional(),
});
export type Notification = Readonly<z.infer<typeof notificationSchema>>;

export const linkPurposes = ['confirm', 'unsubscribe'] as const;
export type LinkPurpose = (typeof linkPurposes)[number];

/** The secret part of a contact's public link. Nobody can make one link of the other. */
export function linkTokenOf(
  { accountId, id, secret }: Pick<Contact, 'accountId' | 'id' | 'secret'>,
  purpose: LinkPurpose,
): string {
  return Buffer.from(`${accountId}~${id}~${proofOf(secret, purpose)}`).toString('base64url');
}

const linkPartsSchema = z.tuple([accountIdSchema, contactIdSchema, z.string().min(1)]);

/** The contact of a link. @returns `undefined` if the text does not have the form of a link. */
export function parseLinkToken(
  token: string,
): { accountId: AccountId; id: ContactId; proof: string } | undefined {
  const parts = linkPartsSchema.safeParse(Buffer.from(token, 'base64url').toString().split('~')).data;
  return parts && { accountId: parts[0], id: parts[1], proof: parts[2] };
}

export function isProof({ secret }: Pick<Contact, 'secret'>, purpose: LinkPurpose, proof: string): boolean {
  const [given, right] = [Buffer.from(proof), Buffer.from(proofOf(secret, purpose))];
  return given.length === right.length && timingSafeEqual(given, right);
}

function proofOf(secret: string, purpose: LinkPurpose): string {
  return createHmac('sha256', secret).update(purpose).digest('base64url');
}
