import {
  CONTACT_ID_PREFIX,
  type Contact,
  type ContactId,
  contactIdSchema,
  contactKindSchema,
  contactStatuses,
  digestSchema,
  MOST_SUBJECTS,
  type Notification,
  notificationIdSchema,
  notificationStatuses,
  notificationTopics,
  occasionSchema,
} from '@hookferry/core/domain/contact';
import {
  type Contacts,
  contactPatchSchema,
  KIND,
  newContactSchema,
  shownTarget,
} from '@hookferry/core/notifications/contacts';
import { formatTime, formatTimeOrNull, timeSchema } from '@hookferry/core/platform/clock';
import { z } from 'zod';
import { pageOf, pageQuery, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

/** What the routes of notifications call beside the core. */
export interface NotificationModules {
  readonly contacts: Contacts;
}

const contactParams = z.object({ id: contactIdSchema.describe('The id of the contact.') });
const SECRET_BYTES = 32;

const contactSchema = z
  .object({
    id: contactIdSchema.describe('The id of the contact.'),
    type: contactKindSchema.describe(KIND),
    target: z
      .string()
      .describe(
        'The mail address. For all other kinds: the host of the URL, since the rest may be a secret.',
      ),
    webhook_id: z
      .string()
      .nullable()
      .describe('The only webhook that it gets notifications about. Null: all webhooks.'),
    occasions: z
      .array(occasionSchema)
      .readonly()
      .nullable()
      .describe('The occasions that it gets notifications about. Null: all.'),
    digest: digestSchema
      .nullable()
      .describe('How often it gets its notifications, in one message. Null: each at once.'),
    time_zone: z.string().nullable().describe('The time zone of the times in its messages. Null: UTC.'),
    status: z
      .enum(contactStatuses)
      .describe(
        '`unconfirmed`: it gets only the request to confirm. `confirmed`: it gets notifications. `unsubscribed`: it gets nothing any more.',
      ),
    created_at: timeSchema.describe('When the contact was created.'),
    updated_at: timeSchema.describe('When the contact was last changed.'),
  })
  .meta({ id: 'Contact' });

const listSchema = pageOf(contactSchema, 'ContactPage');

/** Its target gets one message with a link to confirm. */
export const createContact = defineRoute({
  operationId: 'createContact',
  summary: 'Create a contact for notifications',
  method: 'post',
  path: '/v1/contacts',
  scope: 'webhooks:write',
  audit: 'contact.create',
  request: {
    body: newContactSchema,
    example: { type: 'slack', url: 'https://hooks.slack.com/services/T000/B000/XXXX' },
  },
  creates: true,
  stores: 'other',
  problems: ['limit_reached', 'not_found'],
  responses: {
    201: { description: 'The contact. It gets a message with a link to confirm.', schema: contactSchema },
  },
  async handle(
    { apiKey: { accountId }, body, newId, secretBytes, receivedAt, act },
    { contacts }: NotificationModules,
  ) {
    const making = {
      id: newId(CONTACT_ID_PREFIX) as ContactId,
      secret: secretBytes(SECRET_BYTES).toString('base64url'),
      createdAt: receivedAt,
      act,
    };
    const contact = await contacts.create(accountId, body, making);
    return { status: 201, body: presentContact(contact) };
  },
});

export const listContacts = defineRoute({
  operationId: 'listContacts',
  summary: 'List contacts',
  method: 'get',
  path: '/v1/contacts',
  scope: 'webhooks:read',
  request: {},
  responses: { 200: { description: 'All contacts of the account, newest first.', schema: listSchema } },
  async handle({ apiKey: { accountId } }, { contacts }: NotificationModules) {
    const all = await contacts.list(accountId);
    return { status: 200, body: presentPage(all.map(presentContact), undefined) };
  },
});

export const updateContact = defineRoute({
  operationId: 'updateContact',
  summary: 'Change which notifications a contact gets',
  method: 'patch',
  path: '/v1/contacts/:id',
  scope: 'webhooks:write',
  audit: 'contact.update',
  request: { params: contactParams, body: contactPatchSchema, example: { digest: 'daily' } },
  responses: { 200: { description: 'The contact as it is now.', schema: contactSchema } },
  async handle({ apiKey: { accountId }, params, body, act }, { contacts }: NotificationModules) {
    const contact = await contacts.update(accountId, params.id, body, act);
    return { status: 200, body: presentContact(contact) };
  },
});

/** Its target gets another message with a link to confirm. */
export const askContactAgain = defineRoute({
  operationId: 'askContactAgain',
  summary: 'Ask a contact again to confirm',
  method: 'post',
  path: '/v1/contacts/:id/ask-again',
  scope: 'webhooks:write',
  audit: 'contact.ask_again',
  request: { params: contactParams },
  problems: ['conflict'],
  responses: {
    202: {
      description: 'The contact. It gets another message with a link to confirm.',
      schema: contactSchema,
    },
  },
  async handle({ apiKey: { accountId }, params, act }, { contacts }: NotificationModules) {
    const contact = await contacts.askAgain(accountId, params.id, act);
    return { status: 202, body: presentContact(contact) };
  },
});

/** Whether messages arrive is known before something fails. */
export const testContact = defineRoute({
  operationId: 'testContact',
  summary: 'Send a contact a test message',
  method: 'post',
  path: '/v1/contacts/:id/test',
  scope: 'webhooks:write',
  audit: 'contact.test',
  request: { params: contactParams },
  problems: ['conflict'],
  responses: { 202: { description: 'The contact. It gets a test message.', schema: contactSchema } },
  async handle({ apiKey: { accountId }, params, act }, { contacts }: NotificationModules) {
    const contact = await contacts.sendTest(accountId, params.id, act);
    return { status: 202, body: presentContact(contact) };
  },
});

export const deleteContact = defineRoute({
  operationId: 'deleteContact',
  summary: 'Delete a contact',
  method: 'delete',
  path: '/v1/contacts/:id',
  scope: 'webhooks:write',
  audit: 'contact.delete',
  request: { params: contactParams },
  responses: { 204: { description: 'The contact is deleted. It gets no more messages.' } },
  async handle({ apiKey: { accountId }, params, act }, { contacts }: NotificationModules) {
    await contacts.remove(accountId, params.id, act);
    return { status: 204 };
  },
});

const subjectSchema = z
  .object({
    webhook_id: z.string().nullable().describe('The webhook. Null: the notification is about the account.'),
    name: z
      .string()
      .nullable()
      .describe('The description of the webhook, or its `uid`. Null: it has neither.'),
    label: z
      .string()
      .nullable()
      .describe('The host of the URL of the webhook, or the name of an API key. Null: neither.'),
    detail: z
      .string()
      .nullable()
      .describe('A reason, a share or a time, depending on the topic. Null: none.'),
    last_failure: z
      .string()
      .nullable()
      .describe(
        'How its last attempt failed, such as `HTTP 500` or `connect_refused`. Null: it is not known.',
      ),
  })
  .meta({ id: 'NotificationSubject' });

const notificationSchema = z
  .object({
    id: notificationIdSchema.describe('The id of the notification.'),
    contact_id: contactIdSchema.describe('The contact that it is for.'),
    contact_type: contactKindSchema.describe('The `type` of the contact.'),
    topic: z
      .enum(notificationTopics)
      .describe('The occasion, `confirmation` for the request to confirm, or `test`.'),
    subjects: z
      .array(subjectSchema)
      .readonly()
      .describe(`The webhooks or keys that it is about: at most ${MOST_SUBJECTS} of them.`),
    subject_count: z.int().describe('How many webhooks or keys it is about.'),
    status: z
      .enum(notificationStatuses)
      .describe(
        '`pending`: it is not sent yet. `sent`: it was sent. `failed`: it could not be sent. `cancelled`: it is not sent any more.',
      ),
    attempts: z.int().describe('How many times the service tried to send it.'),
    error: z
      .string()
      .nullable()
      .describe('Why the last try failed, such as `smtp 550`. Null: it did not fail.'),
    created_at: timeSchema.describe('When the notification was created.'),
    ended_at: timeSchema.nullable().describe('When it was sent or given up. Null: not yet.'),
  })
  .meta({ id: 'Notification' });

export const listNotifications = defineRoute({
  operationId: 'listNotifications',
  summary: 'List notifications',
  method: 'get',
  path: '/v1/notifications',
  scope: 'webhooks:read',
  // A filter that matches little looks at all that are kept.
  isHeavy: true,
  request: {
    query: pageQuery(notificationIdSchema).extend({
      contact_id: contactIdSchema
        .optional()
        .describe('Only notifications for this contact. Default: for all.'),
      topic: z
        .enum(notificationTopics)
        .optional()
        .describe('Only notifications with this topic. Default: all.'),
      status: z
        .enum(notificationStatuses)
        .optional()
        .describe('Only notifications with this status. Default: all.'),
    }),
  },
  responses: {
    200: {
      description: 'A page of notifications, newest first.',
      schema: pageOf(notificationSchema, 'NotificationPage'),
    },
  },
  async handle({ apiKey: { accountId }, query }, { contacts }: NotificationModules) {
    const { limit, cursor, contact_id: contactId, topic, status } = query;
    const filter = { contactId, topic, status };
    const page = await contacts.listNotifications(accountId, limit, cursor, filter);
    return { status: 200, body: presentPage(page.notifications.map(presentNotification), page.nextCursor) };
  },
});

function presentContact(contact: Contact): z.infer<typeof contactSchema> {
  return {
    id: contact.id,
    type: contact.kind,
    target: shownTarget(contact),
    webhook_id: contact.endpointId ?? null,
    occasions: contact.occasions ?? null,
    digest: contact.digest ?? null,
    time_zone: contact.timeZone ?? null,
    status: contact.status,
    created_at: formatTime(contact.createdAt),
    updated_at: formatTime(contact.updatedAt),
  };
}

function presentNotification(notification: Notification): z.infer<typeof notificationSchema> {
  const { id, contactId, kind, topic, subjects, status, attempts, error, createdAt, endedAt } = notification;
  const { subjectCount = subjects.length } = notification;
  return {
    id,
    contact_id: contactId,
    contact_type: kind,
    topic,
    subjects: subjects.map(({ endpointId, name, label, detail, lastFailure }) => ({
      webhook_id: endpointId ?? null,
      name: name ?? null,
      label: label ?? null,
      detail: detail ?? null,
      last_failure: lastFailure ?? null,
    })),
    subject_count: subjectCount,
    status,
    attempts,
    error: error ?? null,
    created_at: formatTime(createdAt),
    ended_at: formatTimeOrNull(endedAt),
  };
}
