// @ts-check
/** Where each page has its place: eight tasks at most, as `docs/README.md` groups them. Each page is in it once. */

const page = (/** @type {string} */ text, /** @type {string} */ link) => ({ text, link });
const group = (/** @type {string} */ text, /** @type {ReturnType<typeof page>[]} */ items) => ({
  text,
  items,
  collapsed: true,
});

/** @param {ReturnType<typeof page>[]} resources the pages of the API's reference */
export const navigation = (resources) => [
  {
    text: 'Start',
    collapsed: true,
    items: [
      page('Getting started', '/getting-started'),
      page('What Hookferry is, and is not', '/hookferry'),
      page('Webhooks for your customers', '/guides/customers'),
      page('Try it without a clone', '/packages/server'),
      page('Coming from Svix, Convoy, Outpost', '/migrating'),
      page('Glossary', '/glossary'),
      page('All pages by task', '/documentation'),
    ],
  },
  {
    text: 'Send',
    collapsed: true,
    items: [
      page('Publish in five minutes', '/guides/publishing'),
      page('Manage webhooks from a program', '/guides/integrating'),
      page('Publishing', '/publishing'),
      page('Event types', '/event-types'),
      page('Deliveries and retries', '/deliveries'),
      page('Redeliver and replay', '/replays'),
      page('Find events and deliveries', '/finding'),
      group('What each webhook gets', [
        page('Filters', '/filters'),
        page('Transformations', '/transformations'),
        page('Batches', '/batches'),
        page('Order, groups, coalescing', '/ordering'),
        page('CloudEvents', '/cloudevents'),
        page('Authentication at the receiver', '/receiver-auth'),
        page('Verification of webhooks', '/endpoint-verification'),
      ]),
      page('Scheduled events', '/scheduled-events'),
      page('Stream of changes', '/stream'),
      page('Export', '/export'),
    ],
  },
  {
    text: 'Receive',
    collapsed: true,
    items: [
      page('Receive in five minutes', '/guides/receiving'),
      page('For your customers: receive our webhooks', '/receive'),
      page('Verifying signatures', '/verifying-signatures'),
      page('Webhooks on localhost', '/listening'),
      group('Recipes', [
        page('Each event once', '/recipes/idempotent-receiver'),
        page('A queue behind the receiver', '/recipes/queue-behind-receiver'),
        page('A receiver in CI', '/recipes/receiver-in-ci'),
      ]),
      group('Libraries', [
        page('JavaScript: @hookferry/receiver', '/packages/receiver'),
        page('Python', '/packages/python'),
        page('Go', '/packages/go'),
        page('Java', '/packages/java'),
        page('C#', '/packages/csharp'),
        page('PHP', '/packages/php'),
        page('Ruby', '/packages/ruby'),
        page('All languages', '/packages/languages'),
        page('The cases that all must pass', '/conformance'),
      ]),
    ],
  },
  {
    text: 'Portal',
    collapsed: true,
    items: [
      page('The portal', '/portal'),
      page('Notifications by mail and chat', '/notifications'),
      page('Accounts and API keys', '/api-keys'),
      page('Audit log', '/audit-log'),
    ],
  },
  {
    text: 'Operate',
    collapsed: true,
    items: [
      page('Operate in five minutes', '/guides/operating'),
      group('Install', [
        page('Docker', '/deploying'),
        page('A server without containers', '/server'),
        page('Kubernetes', '/kubernetes'),
        page('Redis', '/redis'),
        page('PostgreSQL', '/postgresql'),
        page('History for months', '/history'),
        page('How large', '/performance'),
        page('Security', '/security'),
      ]),
      group('When something is wrong', [
        page('Nothing arrives', '/nothing-arrives'),
        page('Find out what is wrong', '/guides/debugging'),
        page('Runbook', '/runbook'),
        page('Dead letters', '/dead-letters'),
      ]),
      group('Day by day', [
        page('Operations', '/operations'),
        page('Tracing', '/tracing'),
        page('Stop and upgrade', '/upgrading'),
        page('Backup and restore', '/backup'),
        page('Erasure', '/erasure'),
        page('Reliability', '/reliability'),
      ]),
    ],
  },
  {
    text: 'Reference',
    collapsed: true,
    items: [
      page('The API', '/api'),
      group('Routes', [page('All routes', '/reference'), ...resources]),
      page('Errors', '/errors'),
      page('Limits', '/limits'),
      page('Configuration', '/configuration'),
      page('Metrics', '/metrics'),
      page('Log events', '/logs'),
      page('Command line', '/packages/cli'),
      page('JavaScript: @hookferry/client', '/packages/client'),
      page('Onto the queue: @hookferry/producer', '/packages/producer'),
      page('From your database: @hookferry/outbox', '/packages/outbox'),
    ],
  },
  {
    text: 'Project',
    collapsed: true,
    items: [
      page('Architecture', '/architecture'),
      group('How it works inside', [
        page('Publish', '/inside/publish'),
        page('Deliver', '/inside/deliver'),
        page('Queue', '/inside/queue'),
        page('History', '/inside/history'),
        page('How to add', '/inside/adding'),
        page('Decisions', '/decisions/'),
      ]),
      page('Benchmarks', '/benchmarks'),
      page('Threat model', '/threat-model'),
      page('Report a security problem', '/reporting'),
      page('Dependencies', '/dependencies'),
      page('Contributing', '/contributing'),
      page('Good first issues', '/good-first-issues'),
      page('How we write', '/style'),
      page('Code of conduct', '/code-of-conduct'),
      page('Changelog', '/changelog'),
    ],
  },
];
