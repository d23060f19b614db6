import { type Page, page } from './page';

/** Webhooks, events and their types, and who changed them. */
export const webhookPages: readonly Page[] = [
  page('/webhooks', async () => (await import('../pages/webhooks/webhooks-page')).WebhooksPage),
  page(
    '/webhooks/new',
    async () => (await import('../pages/webhook-form/new-webhook-page')).NewWebhookPage,
    'webhooks',
  ),
  page('/webhooks/:id', async () => {
    // Beside the page, which does not wait for it. If it fails, it is tried again when it is shown.
    void import('../pages/webhook/webhook-panels').catch(() => undefined);
    return (await import('../pages/webhook/webhook-page')).WebhookPage;
  }),
  page(
    '/webhooks/:id/edit',
    async () => (await import('../pages/webhook-form/edit-webhook-page')).EditWebhookPage,
    'webhooks',
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
