// @ts-check
import { defineConfig } from 'vitepress';

const page = (/** @type {string} */ text, /** @type {string} */ link) => ({ text, link });

export default defineConfig({
  title: 'Hookferry',
  description: 'A webhook delivery service that you host yourself',
  srcDir: 'pages',
  outDir: 'dist',
  lastUpdated: false,
  head: [['link', { rel: 'icon', href: '/images/mark.svg' }]],
  // As GitHub makes them, since the pages are read there too.
  markdown: {
    anchor: {
      slugify: (text) =>
        text
          .trim()
          .toLowerCase()
          .replace(/[^\p{L}\p{N}\s_-]/gu, '')
          .replace(/\s/g, '-'),
    },
  },
  themeConfig: {
    logo: '/images/mark.svg',
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          searchOptions: {
            // What says how to do a thing comes before the list of all routes, and what was measured or changed.
            boostDocument: (/** @type {string} */ id) =>
              /^\/(reference|benchmarks|changelog|dependencies)/.test(id) ? 0.4 : 1,
          },
          options: {
            // As people ask: little words say nothing of a page, endings don't count, and `WebhooksBacklogGrows` is three words.
            // This runs in the browser too, so it can use nothing from outside.
            processTerm: (/** @type {string} */ term) => {
              const words = term.split(/(?<=[a-z])(?=[A-Z])/);
              return [...new Set([term, ...words])].flatMap((each) => {
                const word = each.toLowerCase();
                const little =
                  /^(a|all|an|and|any|are|at|be|by|can|could|did|do|does|every|everything|for|from|get|had|has|have|how|i|if|in|is|it|its|just|many|me|much|my|no|not|of|on|or|our|so|than|that|the|their|then|there|they|this|to|use|was|we|what|when|where|which|who|why|will|with|would|you|your)$/;
                return little.test(word) ? [] : [word.replace(/(?<=\w{4})(ing|ed|es|s)$/, '')];
              });
            },
          },
        },
      },
    },
    sidebar: [
      {
        text: 'Start',
        items: [
          page('Hookferry', '/hookferry'),
          page('Getting started', '/getting-started'),
          page('hookferry-server', '/packages/server'),
          page('All pages', '/'),
          page('Coming from another service', '/migrating'),
        ],
      },
      {
        text: 'Concepts',
        items: [
          page('Event types', '/event-types'),
          page('Deliveries', '/deliveries'),
          page('Filters', '/filters'),
          page('Transformations', '/transformations'),
          page('Several events in one request', '/batches'),
          page('Order, groups, coalescing', '/ordering'),
          page('Redeliver and replay', '/replays'),
          page('Accounts and API keys', '/api-keys'),
          page('Glossary', '/glossary'),
        ],
      },
      {
        text: 'Receive',
        items: [
          page('Receive our webhooks', '/receive'),
          page('Guide: receive', '/guides/receiving'),
          page('Verifying signatures', '/verifying-signatures'),
          page('@hookferry/receiver', '/packages/receiver'),
          page('hookferry for Python', '/packages/python'),
          page('Other languages', '/packages/languages'),
          page('Go', '/packages/go'),
          page('Java', '/packages/java'),
          page('C#', '/packages/csharp'),
          page('PHP', '/packages/php'),
          page('Ruby', '/packages/ruby'),
          page('Listening: webhooks on localhost', '/listening'),
          page('Each event once', '/recipes/idempotent-receiver'),
          page('A queue behind the receiver', '/recipes/queue-behind-receiver'),
          page('A receiver in CI', '/recipes/receiver-in-ci'),
        ],
      },
      {
        text: 'Publish',
        items: [
          page('Guide: webhooks for your customers', '/guides/customers'),
          page('Guide: publish', '/guides/publishing'),
          page('Publishing', '/publishing'),
          page('CloudEvents', '/cloudevents'),
          page('Scheduled events', '/scheduled-events'),
          page('@hookferry/producer', '/packages/producer'),
          page('Guide: manage webhooks', '/guides/integrating'),
          page('@hookferry/client', '/packages/client'),
          page('@hookferry/portal', '/packages/portal'),
        ],
      },
      {
        text: 'Operate',
        items: [
          page('Guide: operate', '/guides/operating'),
          page('Guide: debug', '/guides/debugging'),
          page('Deploying', '/deploying'),
          page('A server without containers', '/server'),
          page('Redis', '/redis'),
          page('PostgreSQL', '/postgresql'),
          page('Kubernetes', '/kubernetes'),
          page('Operations', '/operations'),
          page('Dead letters', '/dead-letters'),
          page('Stopping and upgrading', '/upgrading'),
          page('Runbook', '/runbook'),
          page('Nothing arrives', '/nothing-arrives'),
          page('History', '/history'),
          page('Erasure', '/erasure'),
          page('Export', '/export'),
          page('Portal', '/portal'),
          page('Security', '/security'),
          page('Tracing', '/tracing'),
          page('Performance', '/performance'),
          page('Reliability', '/reliability'),
          page('Backup and restore', '/backup'),
        ],
      },
      {
        text: 'Reference',
        items: [
          page('API', '/api'),
          page('All routes', '/reference'),
          page('Errors', '/errors'),
          page('Finding events and deliveries', '/finding'),
          page('Limits', '/limits'),
          page('Configuration', '/configuration'),
          page('Command line', '/packages/cli'),
          page('Metrics', '/metrics'),
          page('Log events', '/logs'),
          page('Audit log', '/audit-log'),
          page('Stream of changes', '/stream'),
          page('Tokens for receivers', '/receiver-auth'),
          page('Verification of webhooks', '/endpoint-verification'),
          page('Notifications', '/notifications'),
        ],
      },
      {
        text: 'Project',
        items: [
          page('Contributing', '/contributing'),
          page('Good first issues', '/good-first-issues'),
          page('Code of conduct', '/code-of-conduct'),
          page('Architecture', '/architecture'),
          page('Inside: publish', '/inside/publish'),
          page('Inside: deliver', '/inside/deliver'),
          page('Inside: queue', '/inside/queue'),
          page('Inside: history', '/inside/history'),
          page('How to add', '/inside/adding'),
          page('Decisions', '/decisions/'),
          page('Benchmarks', '/benchmarks'),
          page('Faults', '/reliability#how-it-is-tried'),
          page('Dependencies', '/dependencies'),
          page('Threat model', '/threat-model'),
          page('How we write', '/style'),
          page('Security contact', '/reporting'),
          page('Changelog', '/changelog'),
        ],
      },
    ],
  },
});
