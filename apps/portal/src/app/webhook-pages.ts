import type { ComponentType } from 'react';
import { type Page, type PageProps, page } from './page';

/** Webhooks, events and their types, and who changed them. */
export const webhookPages: readonly Page[] = [
  page('/webhooks', async () => (await import('../pages/webhooks/webhooks-page')).WebhooksPage),
  formPage(
    '/webhooks/new',
    async () => (await import('../pages/webhook-form/new-webhook-page')).NewWebhookPage,
  ),
  page('/webhooks/:id', async () => (await import('../pages/webhook/webhook-page')).WebhookPage),
  formPage(
    '/webhooks/:id/edit',
    async () => (await import('../pages/webhook-form/edit-webhook-page')).EditWebhookPage,
  ),
  page(
    '/webhooks/:id/transformation',
    async () => (await import('../pages/transformation/transformation-page')).TransformationPage,
  ),
  page(
    '/webhooks/:id/replay',
    async () => (await import('../pages/replay/new-replay-page')).NewReplayPage,
    'redeliver',
  ),
  page('/replays/:id', async () => (await import('../pages/replay/replay-page')).ReplayPage),
  page('/event-types', async () => (await import('../pages/event-types/event-types-page')).EventTypesPage),
  page('/event-types/:name', async () => (await import('../pages/event-type/event-type-page')).EventTypePage),
  page('/events', async () => (await import('../pages/events/events-page')).EventsPage),
  page('/events/:id', async () => (await import('../pages/event/event-page')).EventPage),
  page('/contacts', async () => (await import('../pages/contacts/contacts-page')).ContactsPage),
  page(
    '/contacts/notifications',
    async () => (await import('../pages/contacts/notifications-page')).NotificationsPage,
  ),
  page('/audit-log', async () => (await import('../pages/audit-log/audit-log-page')).AuditLogPage, 'audit'),
];

/** A page that changes webhooks. It checks what is typed by schemas of the core, which are made while it is loaded. */
function formPage(path: string, load: () => Promise<ComponentType<PageProps>>): Page {
  const loadWithSchemas = async () => {
    const { checkWithoutEval } = await import('@hookferry/core/platform/zod-without-eval');
    checkWithoutEval();
    return await load();
  };
  return page(path, loadWithSchemas, 'webhooks');
}
