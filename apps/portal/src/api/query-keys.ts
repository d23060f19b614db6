interface WebhookList {
  readonly search: string;
  readonly order: string;
  readonly show: string;
}

/** The keys of the query cache. A change names the queries that it affects by these. */
export const queryKeys = {
  deliveries: (filters: object) => ['deliveries', filters] as const,
  delivery: (id: string) => ['delivery', id] as const,
  event: (id: string) => ['event', id] as const,
  eventDeliveries: (id: string) => ['event-deliveries', id] as const,
  explanations: (eventId: string, isAll: boolean) => ['explanations', eventId, isAll] as const,
  events: (filters: object) => ['events', filters] as const,
  eventTypes: () => ['event-types'] as const,
  eventType: (name: string) => ['event-type', name] as const,
  webhooks: () => ['webhooks'] as const,
  /** With their health, in an order, as far as they contain a text. */
  listedWebhooks: (list: WebhookList) => ['webhooks', 'listed', list] as const,
  /** Without their health. */
  allWebhooks: () => ['webhooks', 'all'] as const,
  webhook: (id: string) => ['webhook', id] as const,
  secret: (webhookId: string) => ['secret', webhookId] as const,
  contacts: () => ['contacts'] as const,
  notifications: (filters: object) => ['notifications', filters] as const,
  auditLogs: () => ['audit-log'] as const,
  auditLog: (filters: object) => ['audit-log', filters] as const,
  /** By version: a webhook tells which one is in force. */
  transformation: (webhookId: string, version?: number) => ['transformation', webhookId, version] as const,
  transformationVersions: (webhookId: string, version?: number) =>
    ['transformation-versions', webhookId, version] as const,
  transformationTemplates: () => ['transformation-templates'] as const,
  sourceAddresses: () => ['source-addresses'] as const,
  replays: (webhookId: string) => ['replays', webhookId] as const,
  replay: (id: string) => ['replay', id] as const,
  operations: () => ['operations'] as const,
  pausedQueues: () => ['paused-queues'] as const,
  operationsLastDay: () => ['operations-last-day'] as const,
  heavyAccounts: (by: string) => ['heavy-accounts', by] as const,
  readiness: () => ['readiness'] as const,
  operationsWebhooks: (state: string) => ['operations-webhooks', state] as const,
  accounts: () => ['accounts'] as const,
  account: (id: string) => ['account', id] as const,
  accountUsage: (id: string) => ['account-usage', id] as const,
  apiKeys: (accountId: string) => ['api-keys', accountId] as const,
  /** Those that the pages can be seen for. */
  offeredAccounts: () => ['accounts', 'offered'] as const,
  /** Counts over time, of what and when. */
  metrics: (of: string, query: object) => ['metrics', of, query] as const,
  /** Held deliveries, and webhooks that will be disabled. */
  standings: () => ['standings'] as const,
  deadLetters: (filters: object) => ['dead-letters', filters] as const,
  deadLetter: (id: string) => ['dead-letter', id] as const,
};
