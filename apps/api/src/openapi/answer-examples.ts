/** Written by `npm run examples`: what each route answers, by operation and status. */
export const answerExamples: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  createWebhook: {
    '201': {
      id: 'wh_01m7ze3thwae6532vdxr7r',
      url: 'https://receiver.example.com/hooks',
      events: ['*'],
      status: 'enabled',
      ordering: 'none',
      signing: 'hmac',
      format: 'native',
      verification: { status: 'verified', method: 'none' },
      created_at: '2026-11-21T16:13:00.859Z',
      updated_at: '2026-11-21T16:13:00.859Z',
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    },
  },
  listWebhooks: {
    '200': {
      data: [
        {
          id: 'wh_01m7ze3thwae6532vdxr7r',
          url: 'https://receiver.example.com/hooks',
          events: ['*'],
          status: 'enabled',
          ordering: 'none',
          signing: 'hmac',
          format: 'native',
          verification: { status: 'verified', method: 'none' },
          created_at: '2026-11-21T16:13:00.859Z',
          updated_at: '2026-11-21T16:13:00.859Z',
        },
      ],
      next_cursor: null,
      has_more: false,
    },
  },
  readWebhook: {
    '200': {
      id: 'wh_01m7ze3thwae6532vdxr7r',
      url: 'https://receiver.example.com/hooks',
      events: ['*'],
      status: 'enabled',
      ordering: 'none',
      signing: 'hmac',
      format: 'native',
      transformation: { version: 1, enabled: false },
      verification: { status: 'verified', method: 'none' },
      created_at: '2026-11-21T16:13:00.859Z',
      updated_at: '2026-11-21T16:13:00.859Z',
      health: {
        attempts_24h: 0,
        success_rate: null,
        p95_ms: null,
        last_success_at: null,
        last_failure_at: null,
        breaker: 'closed',
        breaker_open_until: null,
        disabled_from: null,
        held: 0,
        concurrency: null,
        hours: [{ at: '2026-11-21T16:13:00.859Z', successes: 0, failures: 0, p95_ms: null }],
      },
    },
  },
  updateWebhook: {
    '200': {
      id: 'wh_01m7ze3thwae6532vdxr7r',
      url: 'https://receiver.example.com/hooks',
      events: ['*'],
      status: 'enabled',
      description: 'new',
      ordering: 'none',
      signing: 'hmac',
      format: 'native',
      transformation: { version: 1, enabled: false },
      verification: { status: 'verified', method: 'none' },
      created_at: '2026-11-21T16:13:00.859Z',
      updated_at: '2026-11-21T16:13:00.859Z',
    },
  },
  enableWebhook: {
    '200': {
      id: 'wh_01m7ze3thwae6532vdxr7r',
      url: 'https://receiver.example.com/hooks',
      events: ['*'],
      status: 'enabled',
      ordering: 'none',
      signing: 'hmac',
      format: 'native',
      transformation: { version: 1, enabled: false },
      verification: { status: 'verified', method: 'none' },
      created_at: '2026-11-21T16:13:00.859Z',
      updated_at: '2026-11-21T16:13:00.859Z',
    },
  },
  disableWebhook: {
    '200': {
      id: 'wh_01m7ze3thwae6532vdxr7r',
      url: 'https://receiver.example.com/hooks',
      events: ['*'],
      status: 'disabled',
      disabled_reason: 'client',
      ordering: 'none',
      signing: 'hmac',
      format: 'native',
      transformation: { version: 1, enabled: false },
      verification: { status: 'verified', method: 'none' },
      created_at: '2026-11-21T16:13:00.859Z',
      updated_at: '2026-11-21T16:13:00.859Z',
    },
  },
  readWebhookSecret: { '200': { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' } },
  rotateWebhookSecret: {
    '200': {
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      previous_secret_expires_at: '2026-11-21T16:13:00.859Z',
    },
  },
  verifyWebhook: {
    '202': {
      id: 'wh_01m7ze3thwae6532vdxr7r',
      url: 'https://wh_01m7ze3thwae6532vdxr7r.example.com/hooks',
      events: ['*'],
      status: 'enabled',
      ordering: 'none',
      signing: 'hmac',
      format: 'native',
      verification: { status: 'pending', method: 'challenge' },
      created_at: '2026-11-21T16:13:00.859Z',
      updated_at: '2026-11-21T16:13:00.859Z',
    },
  },
  testWebhook: {
    '202': {
      event_id: 'evt_01m7ze3vqwgsz1p4n4nhes',
      delivery_id: 'evt_01m7ze3vqwgsz1p4n4nhes.wh_01m7ze3thwae6532vdxr7r',
    },
  },
  putTransformation: {
    '200': {
      webhook_id: 'wh_01m7ze3thwae6532vdxr7r',
      enabled: true,
      version: 1,
      code: 'export default () => ({ body: 1 });',
      saved_at: '2026-11-21T16:13:00.859Z',
      saved_by: 'b32470031696a880',
    },
  },
  readTransformation: {
    '200': {
      webhook_id: 'wh_01m7ze3thwae6532vdxr7r',
      enabled: false,
      version: 1,
      code: 'export default () => ({ body: 1 });',
      saved_at: '2026-11-21T16:13:00.859Z',
      saved_by: '2309cd6f5c99a8db',
    },
  },
  tryTransformation: {
    '200': { outcome: 'made', body: '1', headers: {}, error: null, logs: [], duration_ms: 18.654 },
  },
  listTransformationVersions: {
    '200': {
      data: [
        {
          version: 1,
          code: 'export default () => ({ body: 1 });',
          saved_at: '2026-11-21T16:13:00.859Z',
          saved_by: 'b218aea70b888356',
        },
      ],
    },
  },
  restoreTransformationVersion: {
    '200': {
      webhook_id: 'wh_01m7ze3thwae6532vdxr7r',
      enabled: false,
      version: 1,
      code: 'export default () => ({ body: 1 });',
      saved_at: '2026-11-21T16:13:00.859Z',
      saved_by: '7969bdc1914efdcd',
    },
  },
  tryNewTransformation: {
    '200': { outcome: 'made', body: '1', headers: {}, error: null, logs: [], duration_ms: 2.873 },
  },
  listTransformationTemplates: {
    '200': {
      data: [
        {
          name: 'slack',
          title: 'Slack, incoming webhook',
          form: 'https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks',
          code: "export default function (event) {\n  const details = JSON.stringify(event.data, null, 2);\n  return {\n    body: {\n      text: cut(event.type, 3000),\n      blocks: [\n        { type: 'header', text: { type: 'plain_text', text: cut(event.type, 150) } },\n        { type: 'section', text: { type: 'mrkdwn', text: '```' + cut(escape(details), 2900) + '```' } },\n        { type: 'context', elements: [{ type: 'mrkdwn', text: event.id + ' · ' + event.accepted_at }] },\n      ],\n    },\n  };\n}\n\nconst cut = (text, most) => (text.length > most ? text.slice(0, most - 1).replace(/[\\uD800-\\uDBFF]$/, '') + '…' : text);\nconst escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');\n",
        },
      ],
    },
  },
  readJwks: { '200': { keys: [] } },
  listSigningKeys: {
    '200': { data: [], jwks_path: '/.well-known/webhooks/acct_01m7ze5a8r4x6c2v9b1n3m/jwks.json' },
  },
  rotateSigningKey: {
    '200': {
      data: [
        {
          kid: 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k',
          public_key: 'whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
          status: 'signing',
          created_at: '2026-11-21T16:13:00.859Z',
          signs_from: '2026-11-21T16:13:00.859Z',
          signs_until: null,
          published_until: null,
        },
      ],
      jwks_path: '/.well-known/webhooks/acct_01m7ze5a8r4x6c2v9b1n3m/jwks.json',
    },
  },
  tryFilter: {
    '200': {
      looked_at: 1,
      matched: 1,
      results: [
        {
          event_id: null,
          type: null,
          created_at: null,
          matches: true,
          because: [{ path: 'position', operator: 'lte', expected: 10, found: 4, holds: true }],
        },
      ],
    },
  },
  createListener: {
    '200': {
      id: 'wh_01m7ze3thwae6532vdxr7r',
      url: 'https://laptop.listener.invalid/',
      events: ['*'],
      status: 'disabled',
      disabled_reason: 'disconnected',
      ordering: 'none',
      signing: 'hmac',
      format: 'native',
      uid: 'listener.laptop',
      verification: { status: 'verified', method: 'none' },
      created_at: '2026-11-21T16:13:00.859Z',
      updated_at: '2026-11-21T16:13:00.859Z',
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    },
  },
  streamListener: { '200': { kind: 'ready', stream: '270d8278-9b36-41c5-96fa-436d4e1cf2c9' } },
  streamChanges: { '200': { event: 'end', data: { reason: 'time_over' } } },
  listWebhookDeliveries: {
    '200': {
      data: [
        {
          id: 'evt_01m7ze3vqwgsz1p4n4nhes.wh_01m7ze3thwae6532vdxr7r',
          event_id: 'evt_01m7ze3vqwgsz1p4n4nhes',
          webhook_id: 'wh_01m7ze3thwae6532vdxr7r',
          type: 'keyword.quick_win',
          status: 'pending',
          attempt_count: 0,
          last_outcome: null,
          last_response_status: null,
          next_attempt_at: null,
          hold: null,
          created_at: '2026-11-21T16:13:00.859Z',
        },
      ],
      next_cursor: null,
      has_more: false,
    },
  },
  listDeliveries: {
    '200': {
      data: [
        {
          id: 'evt_01m7ze3vqwgsz1p4n4nhes.wh_01m7ze3thwae6532vdxr7r',
          event_id: 'evt_01m7ze3vqwgsz1p4n4nhes',
          webhook_id: 'wh_01m7ze3thwae6532vdxr7r',
          type: 'keyword.quick_win',
          status: 'pending',
          attempt_count: 0,
          last_outcome: null,
          last_response_status: null,
          next_attempt_at: null,
          hold: null,
          created_at: '2026-11-21T16:13:00.859Z',
        },
      ],
      next_cursor: null,
      has_more: false,
    },
  },
  readDelivery: {
    '200': {
      id: 'evt_01m7ze3vqwgsz1p4n4nhes.wh_01m7ze3thwae6532vdxr7r',
      event_id: 'evt_01m7ze3vqwgsz1p4n4nhes',
      webhook_id: 'wh_01m7ze3thwae6532vdxr7r',
      type: 'keyword.quick_win',
      status: 'pending',
      attempt_count: 0,
      last_outcome: null,
      last_response_status: null,
      next_attempt_at: null,
      hold: null,
      created_at: '2026-11-21T16:13:00.859Z',
      attempts: [],
    },
  },
  readDeliveryContent: {
    '200': {
      body: '{"type":"keyword.quick_win","data":{"keyword":"buy red shoes","position":11,"volume":2400}}',
      headers: { 'content-type': 'application/json' },
    },
  },
  redeliverDelivery: {
    '202': {
      id: 'evt_01m7ze3vqwgsz1p4n4nhes.wh_01m7ze3thwae6532vdxr7r',
      event_id: 'evt_01m7ze3vqwgsz1p4n4nhes',
      webhook_id: 'wh_01m7ze3thwae6532vdxr7r',
      type: 'keyword.quick_win',
      status: 'pending',
      attempt_count: 0,
      last_outcome: null,
      last_response_status: null,
      next_attempt_at: null,
      hold: null,
      created_at: '2026-11-21T16:13:00.859Z',
      attempts: [],
    },
  },
  readDeliveryMetrics: {
    '200': {
      data: [],
      interval: '1h',
      since: '2026-11-21T16:13:00.859Z',
      until: '2026-11-21T16:13:00.859Z',
      source: 'recent',
    },
  },
  readEventMetrics: {
    '200': { data: [], interval: '1h', since: '2026-11-21T16:13:00.859Z', until: '2026-11-21T16:13:00.859Z' },
  },
  createReplay: {
    '202': {
      id: 'rpl_01m7ze4c1m9d1y3k5f7r2w',
      webhook_id: 'wh_01m7ze3thwae6532vdxr7r',
      status: 'counting',
      mode: 'failed',
      since: '2026-11-21T16:13:00.859Z',
      until: '2026-11-21T16:13:00.859Z',
      rate: 50,
      dry_run: false,
      found: 0,
      enqueued: 0,
      erased: 0,
      error: null,
      created_at: '2026-11-21T16:13:00.859Z',
      finished_at: null,
    },
  },
  listReplays: {
    '200': {
      data: [
        {
          id: 'rpl_01m7ze4c1m9d1y3k5f7r2w',
          webhook_id: 'wh_01m7ze3thwae6532vdxr7r',
          status: 'counting',
          mode: 'failed',
          since: '2026-11-21T16:13:00.859Z',
          until: '2026-11-21T16:13:00.859Z',
          rate: 1000,
          dry_run: false,
          found: 0,
          enqueued: 0,
          erased: 0,
          error: null,
          created_at: '2026-11-21T16:13:00.859Z',
          finished_at: null,
        },
      ],
      next_cursor: null,
      has_more: false,
    },
  },
  readReplay: {
    '200': {
      id: 'rpl_01m7ze4c1m9d1y3k5f7r2w',
      webhook_id: 'wh_01m7ze3thwae6532vdxr7r',
      status: 'counting',
      mode: 'failed',
      since: '2026-11-21T16:13:00.859Z',
      until: '2026-11-21T16:13:00.859Z',
      rate: 1000,
      dry_run: false,
      found: 0,
      enqueued: 0,
      erased: 0,
      error: null,
      created_at: '2026-11-21T16:13:00.859Z',
      finished_at: null,
    },
  },
  listEvents: {
    '200': {
      data: [
        {
          id: 'evt_01m7ze3vqwgsz1p4n4nhes',
          type: 'keyword.quick_win',
          created_at: '2026-11-21T16:13:00.859Z',
          status: 'accepted',
          deliver_at: null,
          payload_erased_at: null,
          delivery_count: 1,
        },
      ],
      next_cursor: null,
      has_more: false,
    },
  },
  publishEvent: {
    '200': {
      id: 'evt_01m7ze3vqwgsz1p4n4nhes',
      type: 'keyword.quick_win',
      created_at: '2026-11-21T16:13:00.859Z',
    },
    '202': {
      id: 'evt_01m7ze3vqwgsz1p4n4nhes',
      type: 'keyword.quick_win',
      created_at: '2026-11-21T16:13:00.859Z',
    },
    '207': {
      data: [
        {
          id: 'ce_8hDTy2gISDvw5fsrzyW1DQPz_kTpY9YKGYqkPeHAXlU',
          type: 'keyword.quick_win',
          created_at: '2026-11-21T16:13:00.859Z',
          status: 202,
        },
      ],
    },
  },
  publishBatch: {
    '200': {
      data: [
        {
          id: 'evt_01m7ze3vqwgsz1p4n4nhes',
          type: 'keyword.quick_win',
          created_at: '2026-11-21T16:13:00.859Z',
          status: 202,
        },
      ],
    },
  },
  readEvent: {
    '200': {
      id: 'evt_01m7ze3vqwgsz1p4n4nhes',
      type: 'keyword.quick_win',
      created_at: '2026-11-21T16:13:00.859Z',
      status: 'accepted',
      deliver_at: null,
      payload_erased_at: null,
      deliveries: { total: 1, pending: 1, held: 0, delivered: 0, exhausted: 0, aborted: 0, cancelled: 0 },
      data: { keyword: 'buy red shoes', position: 11, volume: 2400 },
    },
  },
  rescheduleEvent: {
    '200': {
      id: 'evt_01m7ze3vqwgsz1p4n4nhes',
      type: 'keyword.quick_win',
      created_at: '2026-11-21T16:13:00.859Z',
      status: 'scheduled',
      deliver_at: '2026-11-21T16:13:00.859Z',
      payload_erased_at: null,
      deliveries: { total: 0, pending: 0, held: 0, delivered: 0, exhausted: 0, aborted: 0, cancelled: 0 },
      data: { keyword: 'buy red shoes', position: 11, volume: 2400 },
    },
  },
  listEventDeliveries: {
    '200': {
      data: [
        {
          id: 'evt_01m7ze3vqwgsz1p4n4nhes.wh_01m7ze3thwae6532vdxr7r',
          event_id: 'evt_01m7ze3vqwgsz1p4n4nhes',
          webhook_id: 'wh_01m7ze3thwae6532vdxr7r',
          type: 'keyword.quick_win',
          status: 'pending',
          attempt_count: 0,
          last_outcome: null,
          last_response_status: null,
          next_attempt_at: null,
          hold: null,
          created_at: '2026-11-21T16:13:00.859Z',
        },
      ],
      next_cursor: null,
      has_more: false,
    },
  },
  listEventTypes: {
    '200': {
      data: [
        {
          name: 'keyword.quick_win',
          description: 'A keyword was found that a small effort would lift in the search results.',
          schema: {
            $schema: 'https://json-schema.org/draft/2020-12/schema',
            type: 'object',
            properties: {
              keyword: { type: 'string', minLength: 1, maxLength: 1000, description: 'The search phrase.' },
              position: {
                type: 'integer',
                minimum: 1,
                description: 'Its present place in the search results; 1 is the top.',
              },
              volume: { type: 'integer', minimum: 0, description: 'Searches a month.' },
            },
            required: ['keyword', 'position', 'volume'],
            additionalProperties: false,
          },
          example: { keyword: 'buy red shoes', position: 11, volume: 2400 },
          deprecated: false,
          origin: 'built_in',
        },
      ],
    },
  },
  readEventType: {
    '200': {
      name: 'invoice.paid',
      description: 'An invoice was paid.',
      schema: true,
      example: {},
      deprecated: false,
      origin: 'custom',
      version: 382,
    },
  },
  readEventTypeSchema: { '200': true },
  putEventType: {
    '200': {
      name: 'invoice.paid',
      description: 'An invoice was paid.',
      schema: { type: 'object' },
      example: {},
      deprecated: false,
      origin: 'custom',
      version: 395,
    },
  },
  createApiKey: {
    '201': {
      id: '4f7kq2m9x1c8v5b3',
      name: 'ci',
      scopes: ['events:write'],
      created_at: '2026-11-21T16:13:00.859Z',
      expires_at: null,
      last_used_at: null,
      key: 'whk_4f7kq2m9x1c8v5b3_…',
    },
  },
  listApiKeys: {
    '200': {
      data: [
        {
          id: '4f7kq2m9x1c8v5b3',
          name: 'test',
          scopes: [
            'webhooks:read',
            'webhooks:write',
            'events:write',
            'deliveries:read',
            'deliveries:write',
            'admin',
            'portal:write',
            'audit:read',
          ],
          created_at: '2026-11-21T16:13:00.859Z',
          expires_at: null,
          last_used_at: null,
        },
      ],
      next_cursor: null,
      has_more: false,
    },
  },
  listAuditLog: {
    '200': {
      data: [
        {
          id: 'aud_01m8cze70423p1gcwqh466',
          account_id: 'acct_01m7ze5a8r4x6c2v9b1n3m',
          at: '2026-11-21T16:13:00.859Z',
          actor: { type: 'api_key', id: '4f7kq2m9x1c8v5b3' },
          action: 'webhook.update',
          target: { type: 'webhook', id: 'wh_01m7ze3thwae6532vdxr7r' },
          outcome: 'ok',
          address: '192.0.2.7',
          request_id: 'req_1',
          changes: [{ field: 'rate_limit', from: 10, to: 50 }],
        },
      ],
      next_cursor: null,
      has_more: false,
    },
  },
  exportAuditLog: {
    '200': {
      id: 'aud_01m8cze70423p1gcwqh466',
      account_id: 'acct_01m7ze5a8r4x6c2v9b1n3m',
      at: '2026-11-21T16:13:00.859Z',
      actor: { type: 'api_key', id: '4f7kq2m9x1c8v5b3' },
      action: 'webhook.update',
      target: { type: 'webhook', id: 'wh_01m7ze3thwae6532vdxr7r' },
      outcome: 'ok',
      address: '192.0.2.7',
      request_id: 'req_1',
      changes: [{ field: 'rate_limit', from: 10, to: 50 }],
      cursor: 'ImF1ZF8wMW04Y3plNzA0MjNwMWdjd3FoNDY2Ig',
    },
  },
  createPortalSession: {
    '201': {
      id: '4f7kq2m9x1c8v5b3',
      url: 'https://hooks.example.com/portal/#code=whc_4f7kq2m9x1c8v5b3_…',
      expires_at: '2026-11-21T16:13:00.859Z',
    },
  },
  listPortalSessions: {
    '200': {
      data: [
        {
          id: '4f7kq2m9x1c8v5b3',
          account_id: 'acct_01m7ze5a8r4x6c2v9b1n3m',
          capabilities: ['read', 'webhooks', 'resend'],
          label: null,
          created_at: '2026-11-21T16:13:00.859Z',
          expires_at: '2026-11-21T16:13:00.859Z',
          exchanged_at: null,
        },
      ],
      next_cursor: null,
      has_more: false,
    },
  },
  exchangePortalCode: {
    '200': {
      token: 'whp_4f7kq2m9x1c8v5b3_…',
      id: '4f7kq2m9x1c8v5b3',
      account_id: 'acct_01m7ze5a8r4x6c2v9b1n3m',
      capabilities: ['read', 'webhooks', 'resend'],
      expires_at: '2026-11-21T16:13:00.859Z',
      return_url: null,
      theme: {},
    },
  },
  createAccount: {
    '201': {
      id: 'acct_01m7ze5a8r4x6c2v9b1n3m',
      name: 'Acme',
      weight: 1,
      default_signing: 'hmac',
      status: 'active',
      created_at: '2026-11-21T16:13:00.859Z',
    },
  },
  listAccounts: {
    '200': {
      data: [
        {
          id: 'acct_01m7ze5a8r4x6c2v9b1n3m',
          name: 'Acme',
          weight: 1,
          default_signing: 'hmac',
          status: 'active',
          created_at: '2026-11-21T16:13:00.859Z',
        },
      ],
      next_cursor: 'IjAxaGY3eWF0MDBhY2N0XzAxbThkMXdwa3dmOHc0bnRlZGcwYTMi',
      has_more: true,
    },
  },
  readAccount: {
    '200': {
      id: 'acct_01m7ze5a8r4x6c2v9b1n3m',
      weight: 1,
      default_signing: 'hmac',
      status: 'active',
      created_at: '2026-11-21T16:13:00.859Z',
    },
  },
  updateAccount: {
    '200': {
      id: 'acct_01m7ze5a8r4x6c2v9b1n3m',
      weight: 2,
      default_signing: 'hmac',
      status: 'active',
      created_at: '2026-11-21T16:13:00.859Z',
    },
  },
  eraseAccount: {
    '202': {
      id: 'acct_01m7ze5a8r4x6c2v9b1n3m',
      weight: 1,
      default_signing: 'hmac',
      status: 'erasing',
      created_at: '2026-11-21T16:13:00.859Z',
      erasure: { requested_at: '2026-11-21T16:13:00.859Z' },
    },
  },
  readAccountUsage: {
    '200': {
      used_bytes: 5120,
      redis_bytes: 5120,
      quota_bytes: 10737418240,
      bytes: { events: 0, deliveries: 0, answers: 0, replays: 0, portal_sessions: 0 },
      events: 1,
      webhooks: 2,
      api_keys: 2,
    },
  },
  readSourceAddresses: { '200': { data: [] } },
  readOperations: {
    '200': {
      queues: [
        { waiting: 0, active: 0, delayed: 0, failed: 0, name: 'events', shard: 0, oldest_waiting_seconds: 0 },
      ],
      dead_letters: 538,
      held: 0,
      held_by_reason: {
        disabled: 0,
        unverified: 0,
        breaker_open: 0,
        busy: 0,
        rate_limited: 0,
        out_of_turn: 0,
        no_token: 0,
      },
      attempts_per_second: 0,
      workers: [],
      breakers_open: 0,
      webhooks_disabled: 3,
      busiest_accounts: [{ account_id: 'acct_01m7ze5a8r4x6c2v9b1n3m', waiting: 2, weight: 1 }],
    },
  },
  listTroubledWebhooks: { '200': { data: [], next_cursor: null, has_more: false } },
  listDeadLetters: {
    '200': {
      data: [
        {
          id: 'events-dead-letters.0-acct_01m7ze5a8r4x6c2v9b1n3m',
          queue: 'events',
          name: 'no.such',
          account_id: 'acct_01m7ze5a8r4x6c2v9b1n3m',
          reason: 'The event is not valid.',
          failed_at: '2026-11-21T16:13:00.859Z',
          attempts_made: 1,
        },
      ],
      next_cursor:
        'eyJpZCI6ImV2ZW50cy1kZWFkLWxldHRlcnMuMC1hY2N0XzAxbThkMXd4OGgyd2ZkdzA4ZzVmM3kiLCJmYWlsZWRBdCI6MTc5NTczNDUzMzQzM30',
      has_more: true,
    },
  },
  readDeadLetter: {
    '200': {
      id: 'events-dead-letters.0-acct_01m7ze5a8r4x6c2v9b1n3m',
      queue: 'events',
      name: 'no.such',
      account_id: 'acct_01m7ze5a8r4x6c2v9b1n3m',
      reason: 'The event is not valid.',
      failed_at: '2026-11-21T16:13:00.859Z',
      attempts_made: 1,
      data: { account_id: 'acct_01m7ze5a8r4x6c2v9b1n3m' },
    },
  },
};
