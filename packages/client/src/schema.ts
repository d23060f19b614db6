// Written by `npm run client-types` from docs/openapi.json; change nothing here.
// docs/openapi.json: sha256 64499bf04cf8ac965a5751a9ee4793484c92768a7edfd763254eacd918d5de23

export interface paths {
  '/v1/webhooks': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List webhooks
     * @description Needs the scope `webhooks:read`.
     */
    get: operations['listWebhooks'];
    put?: never;
    /**
     * Register a webhook
     * @description Needs the scope `webhooks:write`.
     */
    post: operations['createWebhook'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/webhooks/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read a webhook, and how it is doing
     * @description Needs the scope `webhooks:read`.
     */
    get: operations['readWebhook'];
    put?: never;
    post?: never;
    /**
     * Delete a webhook
     * @description Needs the scope `webhooks:write`.
     */
    delete: operations['deleteWebhook'];
    options?: never;
    head?: never;
    /**
     * Change a webhook (a merge patch)
     * @description Needs the scope `webhooks:write`.
     */
    patch: operations['updateWebhook'];
    trace?: never;
  };
  '/v1/webhooks/{id}/enable': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Enable a webhook: what was held flows
     * @description Needs the scope `webhooks:write`.
     */
    post: operations['enableWebhook'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/webhooks/{id}/disable': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Disable a webhook: its deliveries are held
     * @description Needs the scope `webhooks:write`.
     */
    post: operations['disableWebhook'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/webhooks/{id}/secret': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read a webhook's secret
     * @description Needs the scope `webhooks:write`. Of a portal session also the capability `secrets`.
     */
    get: operations['readWebhookSecret'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/webhooks/{id}/rotate-secret': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Give a webhook a new secret
     * @description Needs the scope `webhooks:write`. Of a portal session also the capability `secrets`.
     */
    post: operations['rotateWebhookSecret'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/webhooks/{id}/test': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Send a test event to a webhook
     * @description Needs the scope `webhooks:write`.
     */
    post: operations['testWebhook'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/filters/try': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Try a filter on data or on events
     * @description Needs the scope `webhooks:read`.
     */
    post: operations['tryFilter'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/listeners': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Make a listener, or have it go on where it was
     * @description Needs the scope `webhooks:write`. Of a portal session also the capability `secrets`.
     */
    post: operations['createListener'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/listeners/{id}/stream': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Connect a listener, and get its deliveries, a line each
     * @description Needs the scope `webhooks:write`. Of a portal session also the capability `secrets`.
     */
    get: operations['streamListener'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/listeners/{id}/answers': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Say what came of deliveries that a listener was given
     * @description Needs the scope `webhooks:write`.
     */
    post: operations['answerListener'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/stream': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Follow what changes, as server-sent events
     * @description Needs the scope `deliveries:read`.
     */
    get: operations['streamChanges'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/webhooks/{id}/deliveries': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List a webhook's deliveries
     * @description Needs the scope `deliveries:read`.
     */
    get: operations['listWebhookDeliveries'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/deliveries': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List deliveries, those of the newest event first
     * @description Needs the scope `deliveries:read`.
     */
    get: operations['listDeliveries'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/deliveries/export': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Export every attempt, a line each
     * @description Needs the scope `deliveries:read`.
     */
    get: operations['exportDeliveries'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/deliveries/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read a delivery with each of its attempts
     * @description Needs the scope `deliveries:read`.
     */
    get: operations['readDelivery'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/deliveries/{id}/redeliver': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Send a delivery once more, now
     * @description Needs the scope `deliveries:write`.
     */
    post: operations['redeliverDelivery'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/webhooks/{id}/replays': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List a webhook's replays
     * @description Needs the scope `deliveries:read`.
     */
    get: operations['listReplays'];
    put?: never;
    /**
     * Send the events of a time range to a webhook
     * @description Needs the scope `deliveries:write`.
     */
    post: operations['createReplay'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/replays/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read a replay and how far it is
     * @description Needs the scope `deliveries:read`.
     */
    get: operations['readReplay'];
    put?: never;
    post?: never;
    /**
     * Cancel a replay
     * @description Needs the scope `deliveries:write`.
     */
    delete: operations['cancelReplay'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/events': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List what was published
     * @description Needs the scope `deliveries:read`.
     */
    get: operations['listEvents'];
    put?: never;
    /**
     * Publish an event
     * @description Needs the scope `events:write`.
     */
    post: operations['publishEvent'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/events/batch': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Publish up to 500 events
     * @description Needs the scope `events:write`.
     */
    post: operations['publishBatch'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/events/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read an event with its data
     * @description Needs the scope `deliveries:read`.
     */
    get: operations['readEvent'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/events/{id}/payload': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Erase an event's payload
     * @description Needs the scope `events:write`.
     */
    delete: operations['erasePayload'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/events/{id}/deliveries': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List an event's deliveries
     * @description Needs the scope `deliveries:read`.
     */
    get: operations['listEventDeliveries'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/event-types': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the catalogue of event types
     * @description Any API key will do.
     */
    get: operations['listEventTypes'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/event-types/{name}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read an event type
     * @description Any API key will do.
     */
    get: operations['readEventType'];
    /**
     * Add or replace an event type
     * @description Needs the scope `admin`. Only for keys of the operator's account.
     */
    put: operations['putEventType'];
    post?: never;
    /**
     * Remove an event type that was added
     * @description Needs the scope `admin`. Only for keys of the operator's account.
     */
    delete: operations['deleteEventType'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/api-keys': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List API keys
     * @description Needs the scope `admin`.
     */
    get: operations['listApiKeys'];
    put?: never;
    /**
     * Issue an API key
     * @description Needs the scope `admin`.
     */
    post: operations['createApiKey'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/api-keys/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Revoke an API key
     * @description Needs the scope `admin`.
     */
    delete: operations['revokeApiKey'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/portal-sessions': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List portal sessions
     * @description Needs the scope `portal:write`.
     */
    get: operations['listPortalSessions'];
    put?: never;
    /**
     * Make a link to the portal
     * @description Needs the scope `portal:write`.
     */
    post: operations['createPortalSession'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/portal-sessions/exchange': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Exchange the code of a link for its session's token, once
     * @description Needs no API key.
     */
    post: operations['exchangePortalCode'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/portal-sessions/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * End a portal session
     * @description Needs the scope `portal:write`.
     */
    delete: operations['revokePortalSession'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/accounts': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List accounts
     * @description Needs the scope `admin`. Only for keys of the operator's account.
     */
    get: operations['listAccounts'];
    put?: never;
    /**
     * Create an account
     * @description Needs the scope `admin`. Only for keys of the operator's account.
     */
    post: operations['createAccount'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/accounts/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read an account
     * @description Needs the scope `admin`. Only for keys of the operator's account.
     */
    get: operations['readAccount'];
    put?: never;
    post?: never;
    /**
     * Erase an account with all that it owns
     * @description Needs the scope `admin`. Only for keys of the operator's account.
     */
    delete: operations['eraseAccount'];
    options?: never;
    head?: never;
    /**
     * Change an account's weight
     * @description Needs the scope `admin`. Only for keys of the operator's account.
     */
    patch: operations['updateAccount'];
    trace?: never;
  };
  '/v1/account/usage': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read how much the account stores, and how much it may
     * @description Any API key will do.
     */
    get: operations['readAccountUsage'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/operations': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read how the service stands
     * @description Needs the scope `admin`. Only for keys of the operator's account.
     */
    get: operations['readOperations'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/operations/webhooks': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List webhooks of all accounts that are disabled, or whose breaker is open
     * @description Needs the scope `admin`. Only for keys of the operator's account.
     */
    get: operations['listTroubledWebhooks'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/dead-letters': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the jobs that are invalid or failed for good
     * @description Needs the scope `admin`. Only for keys of the operator's account.
     */
    get: operations['listDeadLetters'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/dead-letters/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read a dead letter with its data
     * @description Needs the scope `admin`. Only for keys of the operator's account.
     */
    get: operations['readDeadLetter'];
    put?: never;
    post?: never;
    /**
     * Drop a dead letter for good
     * @description Needs the scope `admin`. Only for keys of the operator's account.
     */
    delete: operations['dropDeadLetter'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/v1/dead-letters/{id}/redrive': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Put a dead letter back onto its queue
     * @description Needs the scope `admin`. Only for keys of the operator's account.
     */
    post: operations['redriveDeadLetter'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export interface webhooks {
  'keyword.quick_win': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * keyword.quick_win
     * @description A keyword was found that a small effort would lift in the search results.
     */
    post: operations['receiveKeywordQuickWin'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  'brief.created': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * brief.created
     * @description A content brief was written and is ready to be read.
     */
    post: operations['receiveBriefCreated'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  'import.completed': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * import.completed
     * @description An import came to its end; rows that could not be taken in are counted in `failed_rows`.
     */
    post: operations['receiveImportCompleted'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  'webhook.disabled': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * webhook.disabled
     * @description A webhook was disabled; what it is owed is held until it is enabled.
     */
    post: operations['receiveWebhookDisabled'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  'webhook.failing': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * webhook.failing
     * @description A delivery to a webhook failed for the fourth time; it is tried further as scheduled.
     */
    post: operations['receiveWebhookFailing'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  'webhook.recovered': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * webhook.recovered
     * @description A webhook of which `webhook.failing` told accepts deliveries again.
     */
    post: operations['receiveWebhookRecovered'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  'delivery.exhausted': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * delivery.exhausted
     * @description The last attempt of a delivery failed; it is kept and listed, and not tried again.
     */
    post: operations['receiveDeliveryExhausted'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export interface components {
  schemas: {
    Problem: {
      /**
       * @description The kind of error, as a URI.
       * @example urn:webhooks:error:not_found
       */
      type: string;
      /** @description The kind of error, for people. */
      title: string;
      /** @description The HTTP status. */
      status: number;
      /** @description What is wrong, for people. */
      detail: string;
      /** @description What went wrong, for programs: see the page on errors. */
      code: components['schemas']['ErrorCode'];
      /** @description Leads to this request in the service’s log. */
      request_id: string;
      /** @description Each fault of the request, with where it is. */
      errors?: components['schemas']['Fault'][];
    };
    /** @enum {string} */
    ErrorCode:
      | 'malformed_request'
      | 'malformed_json'
      | 'unauthenticated'
      | 'insufficient_scope'
      | 'operator_only'
      | 'not_found'
      | 'route_not_found'
      | 'method_not_allowed'
      | 'request_timeout'
      | 'conflict'
      | 'event_id_conflict'
      | 'payload_erased'
      | 'request_in_progress'
      | 'last_admin_key'
      | 'answer_not_kept'
      | 'limit_reached'
      | 'replays_running'
      | 'quota_exceeded'
      | 'precondition_failed'
      | 'payload_too_large'
      | 'uri_too_long'
      | 'unsupported_media_type'
      | 'invalid_request'
      | 'idempotency_key_reused'
      | 'rate_limited'
      | 'headers_too_large'
      | 'secret_unreadable'
      | 'internal_error'
      | 'storage_unavailable';
    Fault: {
      /** @description Where in the request: a JSON Pointer into the body, or `?/name` for a query parameter. */
      pointer: string;
      /** @description What is wrong there, for people. */
      detail: string;
    };
    NewWebhook: {
      /**
       * Format: uri
       * @description Where deliveries are sent to.
       * @example https://example.com/webhooks
       */
      url: string;
      /**
       * @description Event types: names, prefixes such as `keyword.*`, or `*` for all.
       * @example [
       *       "keyword.*",
       *       "brief.created"
       *     ]
       */
      events: string[];
      /** @description Which of these events it gets, by their `data`. */
      filter?: components['schemas']['PayloadFilter'];
      /**
       * @description What deliveries are signed with: `whsec_` and base64.
       * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwHfIO5KOKWTs=
       */
      secret?: string;
      /**
       * @description Where it stands.
       * @enum {string}
       */
      status?: 'enabled' | 'disabled';
      /** @description Certificates of its own. */
      tls?: {
        /** @description Certificates that the receiver’s certificate may be signed by, instead of the usual ones. PEM. */
        ca?: string;
        /** @description What the service shows to the receiver. PEM, with its chain. */
        client_certificate?: string;
        /** @description The private key of `client_certificate`. PEM. No answer shows it. */
        client_key?: string;
      };
      /** @description For people. */
      description?: string;
      /** @description How many requests a second its receiver takes. */
      rate_limit?: number;
      /** @description How many attempts may be under way at it at once, in each worker process. */
      max_concurrency?: number;
      /**
       * @description `strict`: one at a time, in the order in which the events were accepted; `none`: as they come.
       * @enum {string}
       */
      ordering?: 'none' | 'strict';
      /** @description A name of your own, which works wherever its id does. */
      uid?: string;
      /** @description How long an attempt may take. */
      timeout_ms?: number;
      /** @description Waits between attempts, such as `5m`; there is one attempt more than waits. */
      retry_schedule?: string[];
      /** @description Texts of your own, by name. */
      metadata?: {
        [key: string]: string;
      };
      /** @description Headers that each request to it has. Answers show their names, and not what they are. */
      headers?: {
        [key: string]: string;
      };
    };
    /**
     * @description Which events it gets, by their `data`. Each member is a path such as `customer.tier`, with a value that must be there or with operators; or `$any` or `$all` with a list of filters, or `$not` with a filter. All must hold. At most 50 conditions, 5 levels and 4096 bytes.
     * @example {
     *       "customer.tier": "gold",
     *       "position": {
     *         "lte": 10
     *       }
     *     }
     */
    PayloadFilter: {
      [key: string]:
        | (string | number | boolean | null)
        | {
            /** @description Is this. */
            eq?: string | number | boolean | null;
            /** @description Is not this; also if there is nothing. */
            ne?: string | number | boolean | null;
            /** @description Is less. */
            lt?: number | string;
            /** @description Is less, or this. */
            lte?: number | string;
            /** @description Is more. */
            gt?: number | string;
            /** @description Is more, or this. */
            gte?: number | string;
            /** @description Is one of these. */
            in?: (string | number | boolean | null)[];
            /** @description Is none of these; also if there is nothing. */
            not_in?: (string | number | boolean | null)[];
            /** @description Whether there is something, be it null. */
            exists?: boolean;
            /** @description Is a text that begins with this. */
            starts_with?: string;
            /** @description Is a text that ends with this. */
            ends_with?: string;
            /** @description Is a list with this item, or a text with this in it. */
            contains?: string | number | boolean | null;
          }
        | components['schemas']['PayloadFilter']
        | components['schemas']['PayloadFilter'][];
    };
    CreatedWebhook: {
      /**
       * @description Its id.
       * @example wh_0n5x3gq9k2v7r1m8c4d6ta
       */
      id: string;
      /**
       * Format: uri
       * @description Where deliveries are sent to.
       * @example https://example.com/webhooks
       */
      url: string;
      /**
       * @description Event types: names, prefixes such as `keyword.*`, or `*` for all.
       * @example [
       *       "keyword.quick_win"
       *     ]
       */
      events: string[];
      /** @description Which of these events it gets, by their `data`. */
      filter?: components['schemas']['PayloadFilter'];
      /**
       * @description Where it stands.
       * @enum {string}
       */
      status: 'enabled' | 'disabled';
      /**
       * @description Why it is disabled: by request, because its receiver answered 410, or because it failed for too long.
       * @enum {string}
       */
      disabled_reason?: 'client' | 'gone' | 'receiver' | 'failing' | 'disconnected';
      /** @description For people. */
      description?: string;
      /**
       * @description `strict`: one at a time, in the order in which the events were accepted; `none`: as they come.
       * @enum {string}
       */
      ordering: 'none' | 'strict';
      /** @description How many requests a second its receiver takes. */
      rate_limit?: number;
      /** @description How many attempts may be under way at it at once, in each worker process. */
      max_concurrency?: number;
      /** @description How long an attempt may take. */
      timeout_ms?: number;
      /** @description Waits between attempts, such as `5m`; there is one attempt more than waits. */
      retry_schedule?: string[];
      /** @description Certificates of its own. */
      tls?: components['schemas']['WebhookTls'];
      /** @description A name of your own, which works wherever its id does. */
      uid?: string;
      /** @description Texts of your own, by name. */
      metadata?: {
        [key: string]: string;
      };
      /** @description Headers that each request to it has. Answers show their names, and not what they are. */
      headers?: {
        [key: string]: '***';
      };
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @description When it was changed last.
       * @example 2030-01-31T12:00:00.000Z
       */
      updated_at: string;
      /**
       * @description What deliveries are signed with: `whsec_` and base64.
       * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
       */
      secret: string;
    };
    WebhookTls: {
      /** @description Certificates that the receiver’s certificate may be signed by, instead of the usual ones. PEM. */
      ca?: components['schemas']['Certificate'];
      /** @description What the service shows to the receiver. PEM, with its chain. */
      client_certificate?: components['schemas']['Certificate'];
    };
    Certificate: {
      /** @description Whose certificate it is. */
      subject: string;
      /** @description SHA-256 of the certificate. */
      fingerprint_sha256: string;
      /**
       * Format: date-time
       * @description From when on it is not valid any more; null: never.
       * @example 2030-01-31T12:00:00.000Z
       */
      expires_at: string;
    };
    WebhookPage: {
      /** @description What there is to tell. */
      data: components['schemas']['ListedWebhook'][];
      /** @description The parameter `cursor` of the next page; null on the last one. */
      next_cursor: string | null;
      /** @description Whether there is another page. */
      has_more: boolean;
    };
    ListedWebhook: {
      /**
       * @description Its id.
       * @example wh_0n5x3gq9k2v7r1m8c4d6ta
       */
      id: string;
      /**
       * Format: uri
       * @description Where deliveries are sent to.
       * @example https://example.com/webhooks
       */
      url: string;
      /**
       * @description Event types: names, prefixes such as `keyword.*`, or `*` for all.
       * @example [
       *       "keyword.quick_win"
       *     ]
       */
      events: string[];
      /** @description Which of these events it gets, by their `data`. */
      filter?: components['schemas']['PayloadFilter'];
      /**
       * @description Where it stands.
       * @enum {string}
       */
      status: 'enabled' | 'disabled';
      /**
       * @description Why it is disabled: by request, because its receiver answered 410, or because it failed for too long.
       * @enum {string}
       */
      disabled_reason?: 'client' | 'gone' | 'receiver' | 'failing' | 'disconnected';
      /** @description For people. */
      description?: string;
      /**
       * @description `strict`: one at a time, in the order in which the events were accepted; `none`: as they come.
       * @enum {string}
       */
      ordering: 'none' | 'strict';
      /** @description How many requests a second its receiver takes. */
      rate_limit?: number;
      /** @description How many attempts may be under way at it at once, in each worker process. */
      max_concurrency?: number;
      /** @description How long an attempt may take. */
      timeout_ms?: number;
      /** @description Waits between attempts, such as `5m`; there is one attempt more than waits. */
      retry_schedule?: string[];
      /** @description Certificates of its own. */
      tls?: components['schemas']['WebhookTls'];
      /** @description A name of your own, which works wherever its id does. */
      uid?: string;
      /** @description Texts of your own, by name. */
      metadata?: {
        [key: string]: string;
      };
      /** @description Headers that each request to it has. Answers show their names, and not what they are. */
      headers?: {
        [key: string]: '***';
      };
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @description When it was changed last.
       * @example 2030-01-31T12:00:00.000Z
       */
      updated_at: string;
      /** @description How it is doing, with `include=health`. */
      health?: components['schemas']['Health'];
    };
    Health: {
      /** @description How many attempts there were within the last 24 hours. */
      attempts_24h: number;
      /** @description The share of the attempts of the last 24 hours that were accepted; null: there were none. */
      success_rate: number | null;
      /** @description How long 95 % of the attempts took at most, to within an eighth; null: not known. */
      p95_ms: number | null;
      /** @description When an attempt was accepted last; null: never. */
      last_success_at: string | null;
      /** @description When an attempt failed last; null: never. */
      last_failure_at: string | null;
      /**
       * @description Whether deliveries are let through: `open` after a run of failures, `half_open` while one is tried.
       * @enum {string}
       */
      breaker: 'closed' | 'open' | 'half_open';
      /** @description Those that wait, without using up attempts, until their webhook can take them. */
      held: number;
      /** @description How many attempts may be under way at it at once, as of now; null: no worker has tried it lately. */
      concurrency: components['schemas']['HealthConcurrency'] | null;
      /** @description The last 24 hours, each of them, the oldest first. */
      hours: components['schemas']['HealthHour'][];
    };
    HealthConcurrency: {
      /** @description How many it may be, all these workers together. */
      limit: number;
      /** @description How many workers have ended an attempt at it within about the last minute. */
      workers: number;
      /**
       * @description `max_concurrency`: as many as it lets itself have; `adaptive`: as many as it has shown to bear.
       * @enum {string}
       */
      reason: 'max_concurrency' | 'adaptive';
    };
    HealthHour: {
      /**
       * Format: date-time
       * @description When it began.
       * @example 2030-01-31T12:00:00.000Z
       */
      at: string;
      /** @description Attempts that were accepted. */
      successes: number;
      /** @description Attempts that failed. */
      failures: number;
      /** @description How long 95 % of the attempts took at most, to within an eighth; null: not known. */
      p95_ms: number | null;
    };
    /** @description A webhook: its id or its `uid`. */
    WebhookRef: string;
    WebhookWithHealth: {
      /**
       * @description Its id.
       * @example wh_0n5x3gq9k2v7r1m8c4d6ta
       */
      id: string;
      /**
       * Format: uri
       * @description Where deliveries are sent to.
       * @example https://example.com/webhooks
       */
      url: string;
      /**
       * @description Event types: names, prefixes such as `keyword.*`, or `*` for all.
       * @example [
       *       "keyword.quick_win"
       *     ]
       */
      events: string[];
      /** @description Which of these events it gets, by their `data`. */
      filter?: components['schemas']['PayloadFilter'];
      /**
       * @description Where it stands.
       * @enum {string}
       */
      status: 'enabled' | 'disabled';
      /**
       * @description Why it is disabled: by request, because its receiver answered 410, or because it failed for too long.
       * @enum {string}
       */
      disabled_reason?: 'client' | 'gone' | 'receiver' | 'failing' | 'disconnected';
      /** @description For people. */
      description?: string;
      /**
       * @description `strict`: one at a time, in the order in which the events were accepted; `none`: as they come.
       * @enum {string}
       */
      ordering: 'none' | 'strict';
      /** @description How many requests a second its receiver takes. */
      rate_limit?: number;
      /** @description How many attempts may be under way at it at once, in each worker process. */
      max_concurrency?: number;
      /** @description How long an attempt may take. */
      timeout_ms?: number;
      /** @description Waits between attempts, such as `5m`; there is one attempt more than waits. */
      retry_schedule?: string[];
      /** @description Certificates of its own. */
      tls?: components['schemas']['WebhookTls'];
      /** @description A name of your own, which works wherever its id does. */
      uid?: string;
      /** @description Texts of your own, by name. */
      metadata?: {
        [key: string]: string;
      };
      /** @description Headers that each request to it has. Answers show their names, and not what they are. */
      headers?: {
        [key: string]: '***';
      };
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @description When it was changed last.
       * @example 2030-01-31T12:00:00.000Z
       */
      updated_at: string;
      /** @description How it is doing. */
      health: components['schemas']['Health'];
    };
    WebhookPatch: {
      /**
       * Format: uri
       * @description Where deliveries are sent to.
       * @example https://example.com/webhooks
       */
      url?: string;
      /**
       * @description Event types: names, prefixes such as `keyword.*`, or `*` for all.
       * @example [
       *       "keyword.*",
       *       "brief.created"
       *     ]
       */
      events?: string[];
      /** @description Which of these events it gets, by their `data`. */
      filter?: components['schemas']['PayloadFilter'] | null;
      /** @description For people. */
      description?: string | null;
      /** @description How many requests a second its receiver takes. */
      rate_limit?: number | null;
      /** @description How many attempts may be under way at it at once, in each worker process. */
      max_concurrency?: number | null;
      /** @description `strict`: one at a time, in the order in which the events were accepted; `none`: as they come. */
      ordering?: ('none' | 'strict') | null;
      /** @description A name of your own, which works wherever its id does. */
      uid?: string | null;
      /** @description How long an attempt may take. */
      timeout_ms?: number | null;
      /** @description Waits between attempts, such as `5m`; there is one attempt more than waits. */
      retry_schedule?: string[] | null;
      /** @description Certificates of its own. */
      tls?: {
        /** @description Certificates that the receiver’s certificate may be signed by, instead of the usual ones. PEM. */
        ca?: string | null;
        /** @description What the service shows to the receiver. PEM, with its chain. */
        client_certificate?: string | null;
        /** @description The private key of `client_certificate`. PEM. No answer shows it. */
        client_key?: string | null;
      } | null;
      /** @description Texts of your own, by name. */
      metadata?: {
        [key: string]: string | null;
      } | null;
      /** @description Headers that each request to it has. Answers show their names, and not what they are. */
      headers?: {
        [key: string]: string | null;
      } | null;
    };
    Webhook: {
      /**
       * @description Its id.
       * @example wh_0n5x3gq9k2v7r1m8c4d6ta
       */
      id: string;
      /**
       * Format: uri
       * @description Where deliveries are sent to.
       * @example https://example.com/webhooks
       */
      url: string;
      /**
       * @description Event types: names, prefixes such as `keyword.*`, or `*` for all.
       * @example [
       *       "keyword.quick_win"
       *     ]
       */
      events: string[];
      /** @description Which of these events it gets, by their `data`. */
      filter?: components['schemas']['PayloadFilter'];
      /**
       * @description Where it stands.
       * @enum {string}
       */
      status: 'enabled' | 'disabled';
      /**
       * @description Why it is disabled: by request, because its receiver answered 410, or because it failed for too long.
       * @enum {string}
       */
      disabled_reason?: 'client' | 'gone' | 'receiver' | 'failing' | 'disconnected';
      /** @description For people. */
      description?: string;
      /**
       * @description `strict`: one at a time, in the order in which the events were accepted; `none`: as they come.
       * @enum {string}
       */
      ordering: 'none' | 'strict';
      /** @description How many requests a second its receiver takes. */
      rate_limit?: number;
      /** @description How many attempts may be under way at it at once, in each worker process. */
      max_concurrency?: number;
      /** @description How long an attempt may take. */
      timeout_ms?: number;
      /** @description Waits between attempts, such as `5m`; there is one attempt more than waits. */
      retry_schedule?: string[];
      /** @description Certificates of its own. */
      tls?: components['schemas']['WebhookTls'];
      /** @description A name of your own, which works wherever its id does. */
      uid?: string;
      /** @description Texts of your own, by name. */
      metadata?: {
        [key: string]: string;
      };
      /** @description Headers that each request to it has. Answers show their names, and not what they are. */
      headers?: {
        [key: string]: '***';
      };
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @description When it was changed last.
       * @example 2030-01-31T12:00:00.000Z
       */
      updated_at: string;
    };
    Secret: {
      /**
       * @description What deliveries are signed with: `whsec_` and base64.
       * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
       */
      secret: string;
    };
    SecretRotation: {
      /**
       * @description For how long the secrets so far go on to sign.
       * @default 86400
       */
      overlap_seconds?: number;
      /**
       * @description What deliveries are signed with: `whsec_` and base64.
       * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwHfIO5KOKWTs=
       */
      secret?: string;
    };
    RotatedSecret: {
      /**
       * @description What deliveries are signed with: `whsec_` and base64.
       * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
       */
      secret: string;
      /**
       * Format: date-time
       * @description Until when the secrets so far sign as well.
       * @example 2030-01-31T12:00:00.000Z
       */
      previous_secret_expires_at: string;
    };
    NewTest: {
      /** @description The event type. */
      type?: string;
    };
    TestSent: {
      /** @description The event. Receivers get it in `webhook-id`. */
      event_id: string;
      /** @description The delivery, as in `GET /v1/deliveries/{id}`. */
      delivery_id: string;
    };
    FilterTrial: {
      /** @description Which of these events it gets, by their `data`. */
      filter: components['schemas']['PayloadFilter'];
      /** @description Data to try it on. */
      data?: unknown;
      /** @description Try it on the example of this type. */
      event_type?: string;
      /** @description Try it on this event. */
      event_id?: string;
      /**
       * @description Of the last events, only those of these types.
       * @example [
       *       "keyword.*",
       *       "brief.created"
       *     ]
       */
      events?: string[];
      /** @description On so many of the last events, unless one of the others says on what: 20 unless given. */
      last?: number;
    };
    FilterTried: {
      /** @description How many there are in `results`, without those whose payload was erased. */
      looked_at: number;
      /** @description How many of them pass. */
      matched: number;
      /** @description The newest event first. */
      results: components['schemas']['FilterResult'][];
    };
    FilterResult: {
      /** @description The event; null if it was tried on something else. */
      event_id: string | null;
      /** @description The event type; null for data without one. */
      type: string | null;
      /** @description When it was made; of an event and its deliveries, when it was accepted. */
      created_at: string | null;
      /** @description Whether the event passes; null: its payload was erased, and nobody can tell. */
      matches: boolean | null;
      /** @description Each condition of the filter by itself. */
      because: components['schemas']['FilterCondition'][];
    };
    FilterCondition: {
      /** @description Of the member. */
      path: string;
      /** @description What is asked of it. */
      operator: string;
      /** @description What it is compared with. */
      expected: unknown;
      /** @description What is there, long values shortened; left out: nothing is. */
      found?: unknown;
      /** @description Whether this condition holds. */
      holds: boolean;
    };
    NewListener: {
      /** @description Its name. */
      name: string;
      /**
       * @description Event types: names, prefixes such as `keyword.*`, or `*` for all.
       * @default [
       *       "*"
       *     ]
       * @example [
       *       "keyword.*",
       *       "brief.created"
       *     ]
       */
      events?: string[];
      /**
       * @description What deliveries are signed with: `whsec_` and base64.
       * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwHfIO5KOKWTs=
       */
      secret?: string;
      /** @description For people. */
      description?: string;
      /**
       * @description `strict`: one at a time, in the order in which the events were accepted; `none`: as they come.
       * @enum {string}
       */
      ordering?: 'none' | 'strict';
      /** @description How long an attempt may take. */
      timeout_ms?: number;
      /** @description Waits between attempts, such as `5m`; there is one attempt more than waits. */
      retry_schedule?: string[];
      /**
       * Format: date-time
       * @description From this time on.
       */
      since?: string;
    };
    Listener: {
      /**
       * @description Its id.
       * @example wh_0n5x3gq9k2v7r1m8c4d6ta
       */
      id: string;
      /**
       * Format: uri
       * @description Where deliveries are sent to.
       * @example https://example.com/webhooks
       */
      url: string;
      /**
       * @description Event types: names, prefixes such as `keyword.*`, or `*` for all.
       * @example [
       *       "keyword.quick_win"
       *     ]
       */
      events: string[];
      /** @description Which of these events it gets, by their `data`. */
      filter?: components['schemas']['PayloadFilter'];
      /**
       * @description Where it stands.
       * @enum {string}
       */
      status: 'enabled' | 'disabled';
      /**
       * @description Why it is disabled: by request, because its receiver answered 410, or because it failed for too long.
       * @enum {string}
       */
      disabled_reason?: 'client' | 'gone' | 'receiver' | 'failing' | 'disconnected';
      /** @description For people. */
      description?: string;
      /**
       * @description `strict`: one at a time, in the order in which the events were accepted; `none`: as they come.
       * @enum {string}
       */
      ordering: 'none' | 'strict';
      /** @description How many requests a second its receiver takes. */
      rate_limit?: number;
      /** @description How many attempts may be under way at it at once, in each worker process. */
      max_concurrency?: number;
      /** @description How long an attempt may take. */
      timeout_ms?: number;
      /** @description Waits between attempts, such as `5m`; there is one attempt more than waits. */
      retry_schedule?: string[];
      /** @description Certificates of its own. */
      tls?: components['schemas']['WebhookTls'];
      /** @description A name of your own, which works wherever its id does. */
      uid?: string;
      /** @description Texts of your own, by name. */
      metadata?: {
        [key: string]: string;
      };
      /** @description Headers that each request to it has. Answers show their names, and not what they are. */
      headers?: {
        [key: string]: '***';
      };
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @description When it was changed last.
       * @example 2030-01-31T12:00:00.000Z
       */
      updated_at: string;
      /**
       * @description What deliveries are signed with: `whsec_` and base64.
       * @example whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
       */
      secret: string;
    };
    ListenerLine: {
      /**
       * @description What the line says.
       * @enum {string}
       */
      kind: 'ready' | 'delivery' | 'end';
      /** @description What to name with each answer; with `ready`. */
      stream?: string;
      /** @description What to name in the answer; with `delivery`. */
      exchange?: string;
      /** @description The headers of the request to send; with `delivery`. */
      headers?: {
        [key: string]: string;
      };
      /** @description The body of the request to send, byte for byte; with `delivery`. */
      body_base64?: string;
      /** @description How long an attempt may take. */
      timeout_ms?: number;
      /** @description How much of the body of the answer is kept; with `delivery`. */
      answer_bytes?: number;
      /**
       * @description Why there is nothing more; with `end`. After `replaced`, do not connect again.
       * @enum {string}
       */
      reason?:
        | 'replaced'
        | 'stopping'
        | 'silent'
        | 'lost'
        | 'removed'
        | 'time_over'
        | 'unauthenticated'
        | 'unverified';
    };
    ListenerAnswers: {
      /** @description As the line `ready` has told it. */
      stream: string;
      /** @description Bytes of answers that are kept for repeated requests. */
      answers: components['schemas']['ListenerAnswer'][];
    };
    ListenerAnswer: {
      /** @description Which delivery it is about, as the line `delivery` has named it. */
      exchange: string;
      /** @description Of the response, if there was one. */
      status?: number;
      /** @description Of the response. Names in lower case. */
      headers?: {
        [key: string]: string;
      };
      /**
       * @description The beginning of the response’s body.
       * @example b2s=
       */
      body_base64?: string;
      /**
       * @description What went wrong, if there was no response.
       * @enum {string}
       */
      outcome?:
        | 'dns_error'
        | 'connect_refused'
        | 'connect_timeout'
        | 'connection_reset'
        | 'tls_error'
        | 'response_timeout'
        | 'protocol_error'
        | 'network_error';
      /** @description What went wrong, for people; null if nothing did. */
      error?: string;
      /** @description For looking up the name; null if it was not looked up. */
      dns_ms?: number;
      /** @description For TCP; null over a connection that was kept alive. */
      connect_ms?: number;
      /** @description For TLS; null over a connection that was kept alive, and without TLS. */
      tls_ms?: number;
      /** @description From the end of the request to the first byte of the answer. */
      first_byte_ms?: number;
    };
    StreamedChange:
      | {
          /**
           * @description What kind of message it is: `event` of the server-sent event.
           * @constant
           */
          event: 'ready';
          /** @description Where to go on: `Last-Event-ID`. */
          id: string;
          /** @description What there is to tell. */
          data: Record<string, never>;
        }
      | {
          /**
           * @description What kind of message it is: `event` of the server-sent event.
           * @constant
           */
          event: 'reset';
          /** @description Where to go on: `Last-Event-ID`. */
          id: string;
          /** @description What there is to tell. */
          data: Record<string, never>;
        }
      | {
          /**
           * @description What kind of message it is: `event` of the server-sent event.
           * @constant
           */
          event: 'delivery';
          /** @description Where to go on: `Last-Event-ID`. */
          id: string;
          /** @description What there is to tell. */
          data: {
            /**
             * @description What has happened to it.
             * @enum {string}
             */
            change: 'created' | 'attempted' | 'held' | 'requested' | 'ended';
            /** @description The delivery, with what is known of it by this change. */
            delivery: components['schemas']['ChangedDelivery'];
          };
        }
      | {
          /**
           * @description What kind of message it is: `event` of the server-sent event.
           * @constant
           */
          event: 'webhook';
          /** @description Where to go on: `Last-Event-ID`. */
          id: string;
          /** @description What there is to tell. */
          data: {
            /**
             * @description What has happened to it.
             * @enum {string}
             */
            change:
              | 'created'
              | 'updated'
              | 'deleted'
              | 'enabled'
              | 'disabled'
              | 'breaker_opened'
              | 'breaker_closed';
            /** @description The webhook, by its id or `uid`. */
            webhook_id: string;
          };
        }
      | {
          /**
           * @description What kind of message it is: `event` of the server-sent event.
           * @constant
           */
          event: 'replay';
          /** @description Where to go on: `Last-Event-ID`. */
          id: string;
          /** @description What there is to tell. */
          data: {
            /**
             * @description What has happened to it.
             * @enum {string}
             */
            change: 'progress' | 'ended';
            /** @description The replay. */
            replay_id: string;
            /** @description The webhook, by its id or `uid`. */
            webhook_id: string;
          };
        }
      | {
          /**
           * @description What kind of message it is: `event` of the server-sent event.
           * @constant
           */
          event: 'end';
          /** @description What there is to tell. */
          data: {
            /**
             * @description Why.
             * @enum {string}
             */
            reason: 'too_slow' | 'stopping' | 'unauthenticated' | 'unverified' | 'time_over';
          };
        };
    /** @description What is known of it. What is absent has not changed. */
    ChangedDelivery: {
      /** @description Its id. */
      id: string;
      /** @description The event. Receivers get it in `webhook-id`. */
      event_id: string;
      /** @description The webhook, by its id or `uid`. */
      webhook_id: string;
      /**
       * @description The event type.
       * @example keyword.quick_win
       */
      type?: string;
      /** @description Where it stands. */
      status?: components['schemas']['DeliveryStatus'];
      /** @description How many attempts there were so far. */
      attempt_count?: number;
      /** @description What came of the last attempt; null before there was one. */
      last_outcome?: components['schemas']['AttemptOutcome'] | null;
      /** @description What the last attempt was answered with; null: with nothing, or there was none. */
      last_response_status?: number | null;
      /** @description When the next attempt is due; null: there is none, or it is not known yet. */
      next_attempt_at?: string | null;
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at?: string;
    };
    /** @enum {string} */
    DeliveryStatus: 'pending' | 'held' | 'delivered' | 'exhausted' | 'aborted' | 'cancelled';
    /** @enum {string} */
    AttemptOutcome:
      | 'delivered'
      | 'http_1xx'
      | 'http_3xx'
      | 'http_4xx'
      | 'http_5xx'
      | 'blocked_address'
      | 'dns_error'
      | 'connect_refused'
      | 'connect_timeout'
      | 'connection_reset'
      | 'tls_error'
      | 'response_timeout'
      | 'protocol_error'
      | 'network_error';
    DeliveryPage: {
      /** @description What there is to tell. */
      data: components['schemas']['Delivery'][];
      /** @description The parameter `cursor` of the next page; null on the last one. */
      next_cursor: string | null;
      /** @description Whether there is another page. */
      has_more: boolean;
    };
    Delivery: {
      /** @description Its id. */
      id: string;
      /** @description The event. Receivers get it in `webhook-id`. */
      event_id: string;
      /** @description The webhook, by its id or `uid`. */
      webhook_id: string;
      /**
       * @description The event type.
       * @example keyword.quick_win
       */
      type: string;
      /** @description Where it stands. */
      status: components['schemas']['DeliveryStatus'];
      /** @description How many attempts there were so far. */
      attempt_count: number;
      /** @description What came of the last attempt; null before there was one. */
      last_outcome: components['schemas']['AttemptOutcome'] | null;
      /** @description What the last attempt was answered with; null: with nothing, or there was none. */
      last_response_status: number | null;
      /** @description When the next attempt is due; null: there is none, or it is not known yet. */
      next_attempt_at: string | null;
      /** @description Why it is held, and until when; null if it is not held, or its webhook is gone. */
      hold: components['schemas']['Hold'] | null;
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
    };
    Hold: {
      /**
       * @description Why.
       * @enum {string}
       */
      reason: 'disabled' | 'breaker_open' | 'busy' | 'rate_limited' | 'out_of_turn';
      /** @description Until when; null: until something else changes. */
      until: string | null;
    };
    ExportedAttempt: {
      /** @description The delivery, as in `GET /v1/deliveries/{id}`. */
      delivery_id: string;
      /** @description The event. Receivers get it in `webhook-id`. */
      event_id: string;
      /** @description The webhook, by its id or `uid`. */
      webhook_id: string;
      /**
       * @description The event type.
       * @example keyword.quick_win
       */
      type: string;
      /** @description Where it stands. */
      status: components['schemas']['DeliveryStatus'];
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description The attempt. */
      attempt: components['schemas']['Attempt'];
      /** @description Where to go on: the export’s parameter `cursor`. */
      cursor: string;
    };
    Attempt: {
      /** @description 1, 2, … */
      number: number;
      /**
       * @description Why it was made: by schedule, by hand, by a replay, or as a test.
       * @enum {string}
       */
      trigger: 'schedule' | 'manual' | 'replay' | 'test';
      /** @description Which worker made it; null: not known any more. */
      worker: string | null;
      /**
       * Format: date-time
       * @description When it began.
       * @example 2030-01-31T12:00:00.000Z
       */
      started_at: string;
      /** @description From its beginning to its end. */
      duration_ms: number;
      /** @description How long each part of it took. */
      timings: components['schemas']['Timings'];
      /** @description What came of it: `delivered`, or in what way it failed. */
      outcome: components['schemas']['AttemptOutcome'];
      /** @description Headers of the request that say something; signatures and the webhook’s own headers are masked. */
      request_headers: {
        [key: string]: string;
      };
      /** @description The answer’s status; null if there was no answer. */
      response_status: number | null;
      /** @description Headers of the answer that say something; null of one that was accepted. */
      response_headers: {
        [key: string]: string;
      } | null;
      /** @description The beginning of the answer’s body; null if there was none. */
      response_body: string | null;
      /** @description What went wrong on the way, for people; null if there was an answer. */
      error: string | null;
    };
    Timings: {
      /** @description For looking up the name; null if it was not looked up. */
      dns_ms: number | null;
      /** @description For TCP; null over a connection that was kept alive. */
      connect_ms: number | null;
      /** @description For TLS; null over a connection that was kept alive, and without TLS. */
      tls_ms: number | null;
      /** @description From the end of the request to the first byte of the answer. */
      first_byte_ms: number | null;
      /** @description All of it. */
      total_ms: number;
    };
    DeliveryWithAttempts: {
      /** @description Its id. */
      id: string;
      /** @description The event. Receivers get it in `webhook-id`. */
      event_id: string;
      /** @description The webhook, by its id or `uid`. */
      webhook_id: string;
      /**
       * @description The event type.
       * @example keyword.quick_win
       */
      type: string;
      /** @description Where it stands. */
      status: components['schemas']['DeliveryStatus'];
      /** @description How many attempts there were so far. */
      attempt_count: number;
      /** @description What came of the last attempt; null before there was one. */
      last_outcome: components['schemas']['AttemptOutcome'] | null;
      /** @description What the last attempt was answered with; null: with nothing, or there was none. */
      last_response_status: number | null;
      /** @description When the next attempt is due; null: there is none, or it is not known yet. */
      next_attempt_at: string | null;
      /** @description Why it is held, and until when; null if it is not held, or its webhook is gone. */
      hold: components['schemas']['Hold'] | null;
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description Every attempt, the first one first. */
      attempts: components['schemas']['Attempt'][];
    };
    NewReplay: {
      /**
       * Format: date-time
       * @description From this time on, which must be before `until`.
       */
      since: string;
      /**
       * Format: date-time
       * @description Up to this time; up to now unless given.
       */
      until?: string;
      /**
       * @description Which events: `failed`, those whose delivery failed; `missing`, those that have none; `all`.
       * @enum {string}
       */
      mode: 'failed' | 'missing' | 'all';
      /**
       * @description Whether it only counts, and sends nothing.
       * @default false
       */
      dry_run?: boolean;
      /**
       * @description How many a second are put onto the queue.
       * @default 50
       */
      rate?: number;
    };
    Replay: {
      /** @description Its id. */
      id: string;
      /** @description The webhook, by its id or `uid`. */
      webhook_id: string;
      /**
       * @description Where it stands.
       * @enum {string}
       */
      status: 'counting' | 'running' | 'done' | 'cancelled' | 'failed';
      /**
       * @description Which events: `failed`, those whose delivery failed; `missing`, those that have none; `all`.
       * @enum {string}
       */
      mode: 'failed' | 'missing' | 'all';
      /**
       * Format: date-time
       * @description From this time on.
       * @example 2030-01-31T12:00:00.000Z
       */
      since: string;
      /**
       * Format: date-time
       * @description Up to this time.
       * @example 2030-01-31T12:00:00.000Z
       */
      until: string;
      /** @description How many a second are put onto the queue. */
      rate: number;
      /** @description Whether it only counts, and sends nothing. */
      dry_run: boolean;
      /** @description How many events it has chosen so far. */
      found: number;
      /** @description How many of them were put onto the queue. */
      enqueued: number;
      /** @description Events that it leaves out because their payload was erased. */
      erased: number;
      /** @description What went wrong, for people; null if nothing did. */
      error: string | null;
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description When it came to its end; null: not yet. */
      finished_at: string | null;
    };
    ReplayPage: {
      /** @description What there is to tell. */
      data: components['schemas']['Replay'][];
      /** @description The parameter `cursor` of the next page; null on the last one. */
      next_cursor: string | null;
      /** @description Whether there is another page. */
      has_more: boolean;
    };
    EventPage: {
      /** @description What there is to tell. */
      data: components['schemas']['ListedEvent'][];
      /** @description The parameter `cursor` of the next page; null on the last one. */
      next_cursor: string | null;
      /** @description Whether there is another page. */
      has_more: boolean;
    };
    ListedEvent: {
      /** @description Its id. */
      id: string;
      /**
       * @description The event type.
       * @example keyword.quick_win
       */
      type: string;
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description When its data was erased, for good; null: it was not. */
      payload_erased_at: string | null;
      /** @description How many webhooks it went to. */
      delivery_count: number;
    };
    NewEvent: {
      /** @description The event type, which must be one of the catalogue. */
      type: string;
      /** @description What there is to tell, as the schema of the event type asks. */
      data: unknown;
      /** @description An id of your own: what comes a second time under it is not delivered again. Made up unless given. */
      id?: string;
      /** @description The only webhooks that get the event, by id or `uid`; each that asked for its type unless given. */
      webhook_ids?: components['schemas']['WebhookRef'][];
    };
    AcceptedEvent: {
      /** @description Its id. */
      id: string;
      /** @description The event type. */
      type: string;
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
    };
    EventBatch: {
      /** @description The events. Each has an outcome of its own. */
      events: components['schemas']['NewEvent'][];
    };
    BatchOutcome: {
      /** @description What there is to tell. */
      data: (components['schemas']['AcceptedOfBatch'] | components['schemas']['RefusedOfBatch'])[];
    };
    AcceptedOfBatch: {
      /** @description Its id. */
      id: string;
      /** @description The event type. */
      type: string;
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * @description Where it stands.
       * @enum {number}
       */
      status: 200 | 202;
    };
    RefusedOfBatch: {
      /** @description Where it stands. */
      status: number;
      /** @description What went wrong, for people; null if nothing did. */
      error: components['schemas']['BatchError'];
    };
    BatchError: {
      /** @description What went wrong, for programs: see the page on errors. */
      code: components['schemas']['ErrorCode'];
      /** @description What is wrong, for people. */
      detail: string;
      /** @description Each fault of the request, with where it is. */
      errors?: components['schemas']['Fault'][];
    };
    Event: {
      /** @description Its id. */
      id: string;
      /**
       * @description The event type.
       * @example keyword.quick_win
       */
      type: string;
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description When its data was erased, for good; null: it was not. */
      payload_erased_at: string | null;
      /** @description How many deliveries there are, or how many bytes they take. */
      deliveries: components['schemas']['DeliveryCounts'];
      /** @description As it was published; null once `payload_erased_at` is not. */
      data: unknown;
    };
    DeliveryCounts: {
      /** @description All of them. */
      total: number;
      /** @description Those that are on their way, or wait for their next attempt. */
      pending: number;
      /** @description Those that wait, without using up attempts, until their webhook can take them. */
      held: number;
      /** @description Those that a receiver has accepted. */
      delivered: number;
      /** @description Those that ended because every attempt failed. */
      exhausted: number;
      /** @description Those that ended because the receiver answered 410. */
      aborted: number;
      /** @description Those that ended because their webhook, or what was to be sent, was gone. */
      cancelled: number;
    };
    EventTypeList: {
      /** @description What there is to tell. */
      data: components['schemas']['EventType'][];
    };
    EventType: {
      /** @description Its name. */
      name: string;
      /** @description For people. */
      description: string;
      /** @description Of `data`: JSON Schema 2020-12. */
      schema:
        | boolean
        | {
            [key: string]: unknown;
          };
      /** @description Data as its schema asks. */
      example: unknown;
      /** @description Events of it are still taken, but nobody should begin to use it. */
      deprecated: boolean;
      /**
       * @description `operational`: raised by this service itself, and by nobody else.
       * @enum {string}
       */
      origin: 'built_in' | 'operational' | 'custom';
      /** @description Of a custom type: 1, and one more with each replacement. */
      version?: number;
    };
    EventTypeInput: {
      /** @description For people. */
      description: string;
      /** @description JSON Schema 2020-12 of `data`. */
      schema:
        | {
            [key: string]: unknown;
          }
        | boolean;
      /** @description Data as its schema asks. */
      example: unknown;
      /**
       * @description Events of it are still taken, but nobody should begin to use it.
       * @default false
       */
      deprecated?: boolean;
    };
    NewApiKey: {
      /** @description Its name. */
      name: string & (unknown & unknown);
      /** @description What it may be used for. */
      scopes: components['schemas']['Scope'][];
      /** @description From when on it is not valid any more; null: never. */
      expires_at?: string | null;
    };
    /** @enum {string} */
    Scope:
      | 'webhooks:read'
      | 'webhooks:write'
      | 'events:write'
      | 'deliveries:read'
      | 'deliveries:write'
      | 'admin'
      | 'portal:write';
    IssuedApiKey: {
      /** @description Its id. */
      id: string;
      /** @description Its name. */
      name: string;
      /** @description What it may be used for. */
      scopes: components['schemas']['Scope'][];
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description From when on it is not valid any more; null: never. */
      expires_at: string | null;
      /** @description When it was used last, to within a few minutes; null: never. */
      last_used_at: string | null;
      /** @description The API key. No other answer shows it. */
      key: string;
    };
    ApiKeyPage: {
      /** @description What there is to tell. */
      data: components['schemas']['ApiKey'][];
      /** @description The parameter `cursor` of the next page; null on the last one. */
      next_cursor: string | null;
      /** @description Whether there is another page. */
      has_more: boolean;
    };
    ApiKey: {
      /** @description Its id. */
      id: string;
      /** @description Its name. */
      name: string;
      /** @description What it may be used for. */
      scopes: components['schemas']['Scope'][];
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description From when on it is not valid any more; null: never. */
      expires_at: string | null;
      /** @description When it was used last, to within a few minutes; null: never. */
      last_used_at: string | null;
    };
    NewPortalSession: {
      /** @description Whose it is to be; the request’s own unless given. Only operators may name another. */
      account?: string;
      /**
       * @description After how many seconds it ends.
       * @default 3600
       */
      expires_in?: number;
      /**
       * @description What it may be used for. `read`, which always belongs to it: to see webhooks and deliveries; `endpoints`: to make and change webhooks; `resend`: to send again; `secrets`: to see and rotate secrets; `operate`: what operators do.
       * @default [
       *       "read",
       *       "endpoints",
       *       "resend"
       *     ]
       */
      capabilities?: components['schemas']['Capability'][];
      /**
       * Format: uri
       * @description Where the page leads back to, for people whose session has ended.
       */
      return_url?: string;
      /** @description How the page looks. */
      theme?: components['schemas']['PortalTheme'];
    };
    /** @enum {string} */
    Capability: 'read' | 'endpoints' | 'resend' | 'secrets' | 'operate';
    PortalTheme: {
      /** @description Whose page it is, for people. */
      name?: string & (unknown & unknown);
      /** @description An image, as a `data:` URI. */
      logo?: string;
      /** @description What buttons and links are coloured by: `#rrggbb`. */
      color?: string;
      /**
       * @description Light or dark, or as people have set it for all pages.
       * @enum {string}
       */
      mode?: 'light' | 'dark' | 'system';
    };
    IssuedPortalSession: {
      /** @description Its id. */
      id: string;
      /**
       * @description The link that opens it.
       * @example https://hooks.example.com/portal/#code=whc_…
       */
      url: string;
      /**
       * Format: date-time
       * @description From when on it is not valid any more; null: never.
       * @example 2030-01-31T12:00:00.000Z
       */
      expires_at: string;
    };
    PortalSessionPage: {
      /** @description What there is to tell. */
      data: components['schemas']['PortalSession'][];
      /** @description The parameter `cursor` of the next page; null on the last one. */
      next_cursor: string | null;
      /** @description Whether there is another page. */
      has_more: boolean;
    };
    PortalSession: {
      /** @description Its id. */
      id: string;
      /** @description Whose it is. */
      account_id: string;
      /** @description What it may be used for. `read`, which always belongs to it: to see webhooks and deliveries; `endpoints`: to make and change webhooks; `resend`: to send again; `secrets`: to see and rotate secrets; `operate`: what operators do. */
      capabilities: components['schemas']['Capability'][];
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /**
       * Format: date-time
       * @description From when on it is not valid any more; null: never.
       * @example 2030-01-31T12:00:00.000Z
       */
      expires_at: string;
      /** @description When its link was opened; null: not yet. */
      exchanged_at: string | null;
    };
    PortalCode: {
      /** @description What stands behind `#code=` in the link. */
      code: string;
    };
    OpenedPortalSession: {
      /** @description What to send as `Authorization: Bearer`. No other answer shows it. */
      token: string;
      /** @description Its id. */
      id: string;
      /** @description Whose it is. */
      account_id: string;
      /** @description What it may be used for. `read`, which always belongs to it: to see webhooks and deliveries; `endpoints`: to make and change webhooks; `resend`: to send again; `secrets`: to see and rotate secrets; `operate`: what operators do. */
      capabilities: components['schemas']['Capability'][];
      /**
       * Format: date-time
       * @description From when on it is not valid any more; null: never.
       * @example 2030-01-31T12:00:00.000Z
       */
      expires_at: string;
      /** @description Where the page leads back to, for people whose session has ended. */
      return_url: string | null;
      /** @description How the page looks. */
      theme: components['schemas']['PortalTheme'];
    };
    NewAccount: {
      /** @description Its id. */
      id?: string;
      /** @description Its name. */
      name?: string & (unknown & unknown);
      /** @description How large the account’s turn is beside the others’: 1 to 100. */
      weight?: number;
      /** @description How many bytes the account may store; null: as many as there is room for. */
      quota_bytes?: number;
    };
    Account: {
      /** @description Its id. */
      id: string;
      /** @description Its name. */
      name?: string;
      /** @description How large the account’s turn is beside the others’: 1 to 100. */
      weight: number;
      /** @description How much it may store, if that was set for it; 0: as much as there is room for. */
      quota_bytes?: number;
      /**
       * @description Where it stands.
       * @enum {string}
       */
      status: 'active' | 'erasing';
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description While it is being erased. How much is left is counted when the account is read alone. */
      erasure?: components['schemas']['Erasure'];
    };
    Erasure: {
      /**
       * Format: date-time
       * @description When it was asked for.
       * @example 2030-01-31T12:00:00.000Z
       */
      requested_at: string;
      /** @description How many webhooks are still to be erased. */
      webhooks_left?: number;
      /** @description How many events are still to be erased. */
      events_left?: number;
    };
    AccountPage: {
      /** @description What there is to tell. */
      data: components['schemas']['ListedAccount'][];
      /** @description The parameter `cursor` of the next page; null on the last one. */
      next_cursor: string | null;
      /** @description Whether there is another page. */
      has_more: boolean;
    };
    ListedAccount: {
      /** @description Its id. */
      id: string;
      /** @description Its name. */
      name?: string;
      /** @description How large the account’s turn is beside the others’: 1 to 100. */
      weight: number;
      /** @description How much it may store, if that was set for it; 0: as much as there is room for. */
      quota_bytes?: number;
      /**
       * @description Where it stands.
       * @enum {string}
       */
      status: 'active' | 'erasing';
      /**
       * Format: date-time
       * @description When it was made; of an event and its deliveries, when it was accepted.
       * @example 2030-01-31T12:00:00.000Z
       */
      created_at: string;
      /** @description While it is being erased. How much is left is counted when the account is read alone. */
      erasure?: components['schemas']['Erasure'];
      /** @description How much it stores, with `include=usage`. */
      usage?: components['schemas']['AccountUsage'];
    };
    AccountUsage: {
      /** @description About as much as it takes up in the store: see "What counts" in the docs. */
      used_bytes: number;
      /** @description How much it may be; `null`: as much as there is room for. */
      quota_bytes: number | null;
      /** @description How much of it goes by itself with time. */
      bytes: components['schemas']['StoredBytes'];
      /** @description In the account's list. */
      events: number;
      /** @description How many webhooks there are. */
      webhooks: number;
      /** @description How many API keys there are. */
      api_keys: number;
    };
    /** @description Of those, what goes by itself with time. `answers` are those to requests with an `Idempotency-Key`. */
    StoredBytes: {
      /** @description Bytes of events. */
      events: number;
      /** @description How many deliveries there are, or how many bytes they take. */
      deliveries: number;
      /** @description Bytes of answers that are kept for repeated requests. */
      answers: number;
      /** @description Bytes of the records of replays. */
      replays: number;
      /** @description Bytes of portal sessions that have not ended, with their logos. */
      portal_sessions: number;
    };
    AccountPatch: {
      /** @description How large the account’s turn is beside the others’: 1 to 100. */
      weight?: number;
      /** @description How many bytes the account may store; null: as many as there is room for. */
      quota_bytes?: number | null;
    };
    Operations: {
      /** @description Each queue, of each shard. */
      queues: components['schemas']['QueueStanding'][];
      /** @description Jobs that are invalid or failed for good. */
      dead_letters: number;
      /** @description Deliveries that are held. */
      held: number;
      /** @description Those of a webhook all count for the reason for which its last one was held. */
      held_by_reason: components['schemas']['HeldByReason'];
      /** @description Of all workers together, in the ten to twenty seconds before. */
      attempts_per_second: number;
      /** @description Those that were heard of within the last 30 seconds. */
      workers: components['schemas']['Worker'][];
      /** @description Webhooks whose circuit breaker is open. */
      breakers_open: number;
      /** @description Webhooks that are disabled. */
      webhooks_disabled: number;
      /** @description Up to ten accounts with the most deliveries waiting. */
      busiest_accounts: components['schemas']['BusyAccount'][];
    };
    QueueStanding: {
      /**
       * @description Its name.
       * @enum {string}
       */
      name: 'events' | 'deliveries' | 'replays' | 'erasures';
      /** @description Which part of the queue, from 0: see `QUEUE_SHARDS`. */
      shard: number;
      /** @description Jobs that workers may take now. */
      waiting: number;
      /** @description Jobs that workers are at. */
      active: number;
      /** @description Deliveries that wait for their next attempt, or are held. */
      delayed: number;
      /** @description Dead letters. */
      failed: number;
      /** @description How long the oldest of the 1,000 that are taken next has waited; 0 if none waits. */
      oldest_waiting_seconds: number;
    };
    HeldByReason: {
      /** @description Their webhook is disabled. */
      disabled: number;
      /** @description Their webhook fails. */
      breaker_open: number;
      /** @description There is no place for another attempt. */
      busy: number;
      /** @description They wait for their turn within a rate limit. */
      rate_limited: number;
      /** @description Another delivery of their webhook goes before them. */
      out_of_turn: number;
    };
    Worker: {
      /** @description As with each attempt, and in the log. */
      id: string;
      /** @description The machine's name, or the container's. */
      host: string;
      /** @description The number of its process. */
      pid: number;
      /** @description Of the service. */
      version: string;
      /**
       * Format: date-time
       * @description When it began.
       * @example 2030-01-31T12:00:00.000Z
       */
      started_at: string;
      /**
       * Format: date-time
       * @description When it last said how it is.
       * @example 2030-01-31T12:00:00.000Z
       */
      seen_at: string;
      /** @description How many attempts it makes at the same time. */
      slots: components['schemas']['WorkerSlots'];
      /** @description In the ten seconds before. */
      attempts_per_second: number;
    };
    WorkerSlots: {
      /** @description For those that have just begun. */
      quick: components['schemas']['Slots'];
      /** @description For those that take longer than 250 ms. */
      slow: components['schemas']['Slots'];
    };
    Slots: {
      /** @description Attempts that are under way. */
      in_use: number;
      /** @description How many may be, as things stand. */
      allowed: number;
    };
    BusyAccount: {
      /** @description Whose it is. */
      account_id: string;
      /** @description Deliveries that wait. Of more than 1,000 in a shard an estimate, by 1,000 of them chosen by chance. */
      waiting: number;
      /** @description How large the account’s turn is beside the others’: 1 to 100. */
      weight: number;
    };
    TroubledWebhookPage: {
      /** @description What there is to tell. */
      data: components['schemas']['TroubledWebhook'][];
      /** @description The parameter `cursor` of the next page; null on the last one. */
      next_cursor: string | null;
      /** @description Whether there is another page. */
      has_more: boolean;
    };
    TroubledWebhook: {
      /** @description The webhook, by its id or `uid`. */
      webhook_id: string;
      /** @description Whose it is. */
      account_id: string;
      /** @description Null: its record can’t be read with this key of secrets. */
      url: string | null;
      /**
       * @description In which way.
       * @enum {string}
       */
      state: 'breaker_open' | 'disabled';
      /** @description Why it is disabled, or `failures`: its last attempts all failed. Null: not on record. */
      reason: ('client' | 'gone' | 'receiver' | 'failing' | 'disconnected' | 'failures') | null;
      /** @description How many attempts in a row failed; null of a disabled one. */
      failures: number | null;
      /** @description Since when it is disabled, or fails; null: not on record. */
      since: string | null;
    };
    DeadLetterPage: {
      /** @description What there is to tell. */
      data: components['schemas']['ListedDeadLetter'][];
      /** @description The parameter `cursor` of the next page; null on the last one. */
      next_cursor: string | null;
      /** @description Whether there is another page. */
      has_more: boolean;
    };
    ListedDeadLetter: {
      /**
       * @description Its id.
       * @example events-dead-letters.1767225600000-17
       */
      id: string;
      /**
       * @description The queue that it was on.
       * @enum {string}
       */
      queue: 'events' | 'deliveries' | 'replays' | 'erasures';
      /** @description The job’s name. */
      name: string;
      /** @description Whose it is. */
      account_id: string | null;
      /** @description Why. */
      reason: string;
      /**
       * Format: date-time
       * @description When it was given up.
       * @example 2030-01-31T12:00:00.000Z
       */
      failed_at: string;
      /** @description How often a worker tried to do the job. */
      attempts_made: number;
    };
    DeadLetter: {
      /**
       * @description Its id.
       * @example events-dead-letters.1767225600000-17
       */
      id: string;
      /**
       * @description The queue that it was on.
       * @enum {string}
       */
      queue: 'events' | 'deliveries' | 'replays' | 'erasures';
      /** @description The job’s name. */
      name: string;
      /** @description Whose it is. */
      account_id: string | null;
      /** @description Why. */
      reason: string;
      /**
       * Format: date-time
       * @description When it was given up.
       * @example 2030-01-31T12:00:00.000Z
       */
      failed_at: string;
      /** @description How often a worker tried to do the job. */
      attempts_made: number;
      /** @description The job’s data. */
      data: unknown;
    };
    KeywordQuickWinEvent: {
      /**
       * @description The event type.
       * @constant
       */
      type: 'keyword.quick_win';
      /** @description What there is to tell. */
      data: {
        /** @description The search phrase. */
        keyword: string;
        /** @description Its present place in the search results; 1 is the top. */
        position: number;
        /** @description Searches a month. */
        volume: number;
      };
    };
    BriefCreatedEvent: {
      /**
       * @description The event type.
       * @constant
       */
      type: 'brief.created';
      /** @description What there is to tell. */
      data: {
        /** @description The brief's id. */
        brief_id: string;
        /** @description The brief's title. */
        title: string;
        /** @description The search phrase that it is written for. */
        keyword?: string;
        /**
         * Format: uri
         * @description Where it can be read.
         */
        url?: string;
      };
    };
    ImportCompletedEvent: {
      /**
       * @description The event type.
       * @constant
       */
      type: 'import.completed';
      /** @description What there is to tell. */
      data: {
        /** @description The import's id. */
        import_id: string;
        /** @description What was imported, such as `search_console` or `csv`. */
        source: string;
        /** @description Rows that were read. */
        total_rows: number;
        /** @description Rows among them that could not be taken in. */
        failed_rows: number;
      };
    };
    WebhookDisabledEvent: {
      /**
       * @description The event type.
       * @constant
       */
      type: 'webhook.disabled';
      /** @description What there is to tell. */
      data: {
        /** @description The webhook's id. */
        webhook_id: string;
        /** @description Where it is delivered to. */
        url: string;
        /**
         * @description Why, as in its `disabled_reason`.
         * @enum {string}
         */
        reason: 'client' | 'gone' | 'receiver' | 'failing' | 'disconnected';
        /**
         * Format: date-time
         * @description When.
         */
        disabled_at: string;
      };
    };
    WebhookFailingEvent: {
      /**
       * @description The event type.
       * @constant
       */
      type: 'webhook.failing';
      /** @description What there is to tell. */
      data: {
        /** @description The webhook's id. */
        webhook_id: string;
        /** @description Where it is delivered to. */
        url: string;
        /** @description The event that was to be delivered. */
        event_id: string;
        /** @description The delivery that failed. */
        delivery_id: string;
        /** @description The event's type. */
        type: string;
        /** @description Attempts so far. */
        attempt_count: number;
        /**
         * @description The last attempt's outcome.
         * @enum {string}
         */
        last_outcome:
          | 'delivered'
          | 'http_1xx'
          | 'http_3xx'
          | 'http_4xx'
          | 'http_5xx'
          | 'blocked_address'
          | 'dns_error'
          | 'connect_refused'
          | 'connect_timeout'
          | 'connection_reset'
          | 'tls_error'
          | 'response_timeout'
          | 'protocol_error'
          | 'network_error';
        /** @description What the receiver answered; null: nothing. */
        last_response_status: number | null;
      };
    };
    WebhookRecoveredEvent: {
      /**
       * @description The event type.
       * @constant
       */
      type: 'webhook.recovered';
      /** @description What there is to tell. */
      data: {
        /** @description The webhook's id. */
        webhook_id: string;
        /** @description Where it is delivered to. */
        url: string;
        /**
         * Format: date-time
         * @description When the first attempt failed after its last success.
         */
        failing_since: string;
        /**
         * Format: date-time
         * @description When it accepted a delivery again.
         */
        recovered_at: string;
      };
    };
    DeliveryExhaustedEvent: {
      /**
       * @description The event type.
       * @constant
       */
      type: 'delivery.exhausted';
      /** @description What there is to tell. */
      data: {
        /** @description The delivery's id. */
        delivery_id: string;
        /** @description The event that was to be delivered. */
        event_id: string;
        /** @description The webhook that it was to be delivered to. */
        webhook_id: string;
        /** @description The event's type. */
        type: string;
        /** @description Attempts that were made. */
        attempt_count: number;
      };
    };
  };
  responses: {
    /** @description Any other error. */
    Problem: {
      headers: {
        [name: string]: unknown;
      };
      content: {
        'application/problem+json': components['schemas']['Problem'];
      };
    };
  };
  parameters: {
    /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
    AccountId: string;
    /** @description The same request with the same key is worked on once, and gets the first answer again. */
    IdempotencyKey: string;
    /** @description The `ETag` of the state that the change is meant for. */
    IfMatch: string;
    /** @description The event's id, the same on every attempt: by it duplicates are known. */
    WebhookId: string;
    /**
     * @description When this attempt was made, in Unix seconds.
     * @example 1614265330
     */
    WebhookTimestamp: string;
    /**
     * @description Standard Webhooks 1.0: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`. During a rotation one for each live secret, newest first, separated by a space.
     * @example v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
     */
    WebhookSignature: string;
    /** @description `sha256=` and the hex of HMAC-SHA256 over the body, with the newest secret as it was issued. */
    ServiceSignature: string;
    /**
     * @description 1, 2, …
     * @example 1
     */
    ServiceAttempt: string;
    /** @description `true` of an event that was made to try the webhook out; else it is not there. */
    ServiceTest: string;
  };
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  listWebhooks: {
    parameters: {
      query?: {
        /** @description How many at most. */
        limit?: number;
        /** @description Where to go on: the export’s parameter `cursor`. */
        cursor?: string;
        /** @description Where it stands. */
        status?: 'enabled' | 'disabled';
        /** @description Only those of this event type, or that asked for it. */
        event_type?: string;
        /** @description What each of them has beside the rest. */
        include?: 'health';
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of webhooks. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['WebhookPage'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  createWebhook: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
        /** @description The same request with the same key is worked on once, and gets the first answer again. */
        'Idempotency-Key'?: components['parameters']['IdempotencyKey'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "url": "https://example.com/webhooks",
         *       "events": [
         *         "keyword.*",
         *         "brief.created"
         *       ],
         *       "description": "Keywords for the dashboard"
         *     }
         */
        'application/json': components['schemas']['NewWebhook'];
      };
    };
    responses: {
      /** @description The webhook, and for the only time beside it its secret. */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['CreatedWebhook'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `request_in_progress`: The same request is being worked on. `answer_not_kept`: It was carried out; the answer is not kept. `conflict`: Conflict. `quota_exceeded`: The account stores as much as it may. `limit_reached`: A limit is reached. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. `idempotency_key_reused`: The Idempotency-Key belongs to another request. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  readWebhook: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: components['schemas']['WebhookRef'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The webhook. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['WebhookWithHealth'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  deleteWebhook: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: components['schemas']['WebhookRef'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description It is gone, and what was pending for it is cancelled. */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  updateWebhook: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
        /** @description The `ETag` of the state that the change is meant for. */
        'If-Match'?: components['parameters']['IfMatch'];
      };
      path: {
        /** @description Its id. */
        id: components['schemas']['WebhookRef'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "events": [
         *         "*"
         *       ],
         *       "rate_limit": 50,
         *       "description": null
         *     }
         */
        'application/merge-patch+json': components['schemas']['WebhookPatch'];
      };
    };
    responses: {
      /** @description The webhook as it is now. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Webhook'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `conflict`: Conflict. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `precondition_failed`: It was changed meanwhile. */
      412: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  enableWebhook: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: components['schemas']['WebhookRef'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The webhook as it is now. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Webhook'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  disableWebhook: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: components['schemas']['WebhookRef'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The webhook as it is now. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Webhook'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  readWebhookSecret: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: components['schemas']['WebhookRef'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The newest secret that signs. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Secret'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  rotateWebhookSecret: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
        /** @description The same request with the same key is worked on once, and gets the first answer again. */
        'Idempotency-Key'?: components['parameters']['IdempotencyKey'];
      };
      path: {
        /** @description Its id. */
        id: components['schemas']['WebhookRef'];
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        /**
         * @example {
         *       "overlap_seconds": 86400
         *     }
         */
        'application/json': components['schemas']['SecretRotation'];
      };
    };
    responses: {
      /** @description The new secret, and how long those before it go on to sign. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['RotatedSecret'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `request_in_progress`: The same request is being worked on. `answer_not_kept`: It was carried out; the answer is not kept. `conflict`: Conflict. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. `idempotency_key_reused`: The Idempotency-Key belongs to another request. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  testWebhook: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
        /** @description The same request with the same key is worked on once, and gets the first answer again. */
        'Idempotency-Key'?: components['parameters']['IdempotencyKey'];
      };
      path: {
        /** @description Its id. */
        id: components['schemas']['WebhookRef'];
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        /**
         * @example {
         *       "type": "keyword.quick_win"
         *     }
         */
        'application/json': components['schemas']['NewTest'];
      };
    };
    responses: {
      /** @description Accepted: the event and its delivery. */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['TestSent'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `request_in_progress`: The same request is being worked on. `answer_not_kept`: It was carried out; the answer is not kept. `conflict`: Conflict. `quota_exceeded`: The account stores as much as it may. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. `idempotency_key_reused`: The Idempotency-Key belongs to another request. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  tryFilter: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "filter": {
         *         "position": {
         *           "lte": 10
         *         }
         *       },
         *       "event_type": "keyword.quick_win"
         *     }
         */
        'application/json': components['schemas']['FilterTrial'];
      };
    };
    responses: {
      /** @description What passes, and why or why not. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['FilterTried'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  createListener: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "name": "my-laptop",
         *       "events": [
         *         "keyword.*"
         *       ],
         *       "ordering": "strict"
         *     }
         */
        'application/json': components['schemas']['NewListener'];
      };
    };
    responses: {
      /** @description The listener: a webhook whose deliveries are taken over `GET /v1/listeners/{id}/stream`. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Listener'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `quota_exceeded`: The account stores as much as it may. `conflict`: Conflict. `limit_reached`: A limit is reached. `replays_running`: As many replays run as may. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  streamListener: {
    parameters: {
      query?: {
        /** @description How many deliveries may be under way at the same time. */
        parallel?: number;
        /** @description After so long it ends; connect again. */
        max_seconds?: number;
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description JSON texts, each with a line feed after it, until either side ends it. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/x-ndjson': components['schemas']['ListenerLine'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  answerListener: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "stream": "9f3c1b0e-5a53-4c4c-9a0e-0d5f7b1f2a11",
         *       "answers": [
         *         {
         *           "exchange": "1",
         *           "status": 204
         *         }
         *       ]
         *     }
         */
        'application/json': components['schemas']['ListenerAnswers'];
      };
    };
    responses: {
      /** @description They were passed on. */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `conflict`: Conflict. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  streamChanges: {
    parameters: {
      query?: {
        /** @description The webhook, by its id or `uid`. */
        webhook_id?: components['schemas']['WebhookRef'];
        /** @description Where to go on: the id of the last event that was seen. */
        last_event_id?: string;
        /** @description After so long it ends; connect again. */
        max_seconds?: number;
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Server-sent events until either side ends it: see the page on the stream. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'text/event-stream': components['schemas']['StreamedChange'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  listWebhookDeliveries: {
    parameters: {
      query?: {
        /** @description How many at most. */
        limit?: number;
        /** @description Where to go on: the export’s parameter `cursor`. */
        cursor?: string;
        /** @description Only those of this event type, or that asked for it. */
        event_type?: string;
        /** @description Where it stands. */
        status?: 'pending' | 'held' | 'delivered' | 'exhausted' | 'aborted' | 'cancelled';
        /** @description Only those whose last attempt was answered so; `none`: was not answered. */
        status_class?: '1xx' | '2xx' | '3xx' | '4xx' | '5xx' | 'none';
        /** @description The answer’s status; null if there was no answer. */
        response_status?: number;
        /** @description What came of it: `delivered`, or in what way it failed. */
        outcome?: components['schemas']['AttemptOutcome'];
        /** @description From this time on. */
        since?: string;
        /** @description Up to this time. */
        until?: string;
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: components['schemas']['WebhookRef'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of deliveries. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DeliveryPage'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  listDeliveries: {
    parameters: {
      query?: {
        /** @description How many at most. */
        limit?: number;
        /** @description Where to go on: the export’s parameter `cursor`. */
        cursor?: string;
        /** @description The webhook, by its id or `uid`. */
        webhook_id?: components['schemas']['WebhookRef'];
        /** @description The event. Receivers get it in `webhook-id`. */
        event_id?: string;
        /** @description Only those of this event type, or that asked for it. */
        event_type?: string;
        /** @description Where it stands. */
        status?: 'pending' | 'held' | 'delivered' | 'exhausted' | 'aborted' | 'cancelled';
        /** @description Only those whose last attempt was answered so; `none`: was not answered. */
        status_class?: '1xx' | '2xx' | '3xx' | '4xx' | '5xx' | 'none';
        /** @description The answer’s status; null if there was no answer. */
        response_status?: number;
        /** @description What came of it: `delivered`, or in what way it failed. */
        outcome?: components['schemas']['AttemptOutcome'];
        /** @description From this time on. */
        since?: string;
        /** @description Up to this time. */
        until?: string;
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of deliveries. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DeliveryPage'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  exportDeliveries: {
    parameters: {
      query?: {
        /** @description From this time on. */
        since?: string;
        /** @description Up to this time. */
        until?: string;
        /** @description The webhook, by its id or `uid`. */
        webhook_id?: components['schemas']['WebhookRef'];
        /** @description How many at most. */
        limit?: number;
        /** @description Where to go on: the export’s parameter `cursor`. */
        cursor?: string;
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description JSON texts, each with a line feed after it; the schema is that of a line. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/x-ndjson': components['schemas']['ExportedAttempt'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  readDelivery: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The delivery. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DeliveryWithAttempts'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  redeliverDelivery: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
        /** @description The same request with the same key is worked on once, and gets the first answer again. */
        'Idempotency-Key'?: components['parameters']['IdempotencyKey'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The delivery as it is now. */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DeliveryWithAttempts'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `request_in_progress`: The same request is being worked on. `answer_not_kept`: It was carried out; the answer is not kept. `conflict`: Conflict. `quota_exceeded`: The account stores as much as it may. `payload_erased`: The payload was erased. `limit_reached`: A limit is reached. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. `idempotency_key_reused`: The Idempotency-Key belongs to another request. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  listReplays: {
    parameters: {
      query?: {
        /** @description How many at most. */
        limit?: number;
        /** @description Where to go on: the export’s parameter `cursor`. */
        cursor?: string;
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: components['schemas']['WebhookRef'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of replays. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ReplayPage'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  createReplay: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
        /** @description The same request with the same key is worked on once, and gets the first answer again. */
        'Idempotency-Key'?: components['parameters']['IdempotencyKey'];
      };
      path: {
        /** @description Its id. */
        id: components['schemas']['WebhookRef'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "since": "2026-01-01T00:00:00Z",
         *       "mode": "failed",
         *       "rate": 50
         *     }
         */
        'application/json': components['schemas']['NewReplay'];
      };
    };
    responses: {
      /** @description The replay, which goes on in the background. */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Replay'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `request_in_progress`: The same request is being worked on. `answer_not_kept`: It was carried out; the answer is not kept. `conflict`: Conflict. `quota_exceeded`: The account stores as much as it may. `replays_running`: As many replays run as may. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. `idempotency_key_reused`: The Idempotency-Key belongs to another request. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  readReplay: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The replay. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Replay'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  cancelReplay: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description It is cancelled, or had ended before. */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  listEvents: {
    parameters: {
      query?: {
        /** @description How many at most. */
        limit?: number;
        /** @description Where to go on: the export’s parameter `cursor`. */
        cursor?: string;
        /** @description The event type. */
        type?: string;
        /** @description From this time on. */
        since?: string;
        /** @description Up to this time. */
        until?: string;
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of events. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['EventPage'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  publishEvent: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
        /** @description The same request with the same key is worked on once, and gets the first answer again. */
        'Idempotency-Key'?: components['parameters']['IdempotencyKey'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "type": "keyword.quick_win",
         *       "data": {
         *         "keyword": "buy red shoes",
         *         "position": 11,
         *         "volume": 2400
         *       }
         *     }
         */
        'application/json': components['schemas']['NewEvent'];
      };
    };
    responses: {
      /** @description It had been accepted before, under the same id. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['AcceptedEvent'];
        };
      };
      /** @description Accepted: it is stored and will be delivered. */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['AcceptedEvent'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `request_in_progress`: The same request is being worked on. `answer_not_kept`: It was carried out; the answer is not kept. `conflict`: Conflict. `quota_exceeded`: The account stores as much as it may. `event_id_conflict`: The id belongs to another event. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. `idempotency_key_reused`: The Idempotency-Key belongs to another request. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  publishBatch: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
        /** @description The same request with the same key is worked on once, and gets the first answer again. */
        'Idempotency-Key'?: components['parameters']['IdempotencyKey'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "events": [
         *         {
         *           "type": "keyword.quick_win",
         *           "data": {
         *             "keyword": "buy red shoes",
         *             "position": 11,
         *             "volume": 2400
         *           },
         *           "id": "quick-win-4711"
         *         },
         *         {
         *           "type": "brief.created",
         *           "data": {
         *             "brief_id": "brf_82h1",
         *             "title": "How to choose running shoes",
         *             "keyword": "running shoes",
         *             "url": "https://app.example.com/briefs/brf_82h1"
         *           }
         *         },
         *         {
         *           "type": "import.completed",
         *           "data": {
         *             "import_id": "imp_4k9x",
         *             "source": "csv",
         *             "total_rows": 1200,
         *             "failed_rows": 3
         *           }
         *         },
         *         {
         *           "type": "webhook.disabled",
         *           "data": {
         *             "webhook_id": "wh_01m7z10j4pcztef8hye093",
         *             "url": "https://receiver.example.com/hooks",
         *             "reason": "failing",
         *             "disabled_at": "2026-11-21T12:24:02.454Z"
         *           }
         *         },
         *         {
         *           "type": "webhook.failing",
         *           "data": {
         *             "webhook_id": "wh_01m7z10j4pcztef8hye093",
         *             "url": "https://receiver.example.com/hooks",
         *             "event_id": "evt_01m7z10j5c4fq3r52bewgh",
         *             "delivery_id": "evt_01m7z10j5c4fq3r52bewgh.wh_01m7z10j4pcztef8hye093",
         *             "type": "keyword.quick_win",
         *             "attempt_count": 4,
         *             "last_outcome": "http_5xx",
         *             "last_response_status": 503
         *           }
         *         },
         *         {
         *           "type": "webhook.recovered",
         *           "data": {
         *             "webhook_id": "wh_01m7z10j4pcztef8hye093",
         *             "url": "https://receiver.example.com/hooks",
         *             "failing_since": "2026-11-21T12:24:02.454Z",
         *             "recovered_at": "2026-11-21T15:02:43.120Z"
         *           }
         *         },
         *         {
         *           "type": "delivery.exhausted",
         *           "data": {
         *             "delivery_id": "evt_01m7z10j5c4fq3r52bewgh.wh_01m7z10j4pcztef8hye093",
         *             "event_id": "evt_01m7z10j5c4fq3r52bewgh",
         *             "webhook_id": "wh_01m7z10j4pcztef8hye093",
         *             "type": "keyword.quick_win",
         *             "attempt_count": 10
         *           }
         *         }
         *       ]
         *     }
         */
        'application/json': components['schemas']['EventBatch'];
      };
    };
    responses: {
      /** @description An outcome for each event, in their order. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['BatchOutcome'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `request_in_progress`: The same request is being worked on. `answer_not_kept`: It was carried out; the answer is not kept. `conflict`: Conflict. `quota_exceeded`: The account stores as much as it may. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. `idempotency_key_reused`: The Idempotency-Key belongs to another request. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  readEvent: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The event. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Event'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  erasePayload: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description It is erased for good, and what was pending of it is not sent any more. */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  listEventDeliveries: {
    parameters: {
      query?: {
        /** @description How many at most. */
        limit?: number;
        /** @description Where to go on: the export’s parameter `cursor`. */
        cursor?: string;
        /** @description Where it stands. */
        status?: 'pending' | 'held' | 'delivered' | 'exhausted' | 'aborted' | 'cancelled';
        /** @description Only those whose last attempt was answered so; `none`: was not answered. */
        status_class?: '1xx' | '2xx' | '3xx' | '4xx' | '5xx' | 'none';
        /** @description The answer’s status; null if there was no answer. */
        response_status?: number;
        /** @description What came of it: `delivered`, or in what way it failed. */
        outcome?: components['schemas']['AttemptOutcome'];
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of deliveries. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DeliveryPage'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  listEventTypes: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Every event type. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['EventTypeList'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  readEventType: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its name. */
        name: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The event type. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['EventType'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  putEventType: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its name. */
        name: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "description": "An invoice was paid.",
         *       "schema": {
         *         "type": "object",
         *         "properties": {
         *           "id": {
         *             "type": "string"
         *           },
         *           "amount": {
         *             "type": "number"
         *           }
         *         },
         *         "required": [
         *           "id"
         *         ],
         *         "additionalProperties": false
         *       },
         *       "example": {
         *         "id": "inv_1",
         *         "amount": 10
         *       }
         *     }
         */
        'application/json': components['schemas']['EventTypeInput'];
      };
    };
    responses: {
      /** @description The event type as it is now. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['EventType'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `conflict`: Conflict. `limit_reached`: A limit is reached. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  deleteEventType: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its name. */
        name: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Nobody can publish or ask for it any more. Its events stay, and are delivered. */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `conflict`: Conflict. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  listApiKeys: {
    parameters: {
      query?: {
        /** @description How many at most. */
        limit?: number;
        /** @description Where to go on: the export’s parameter `cursor`. */
        cursor?: string;
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of API keys. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ApiKeyPage'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  createApiKey: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
        /** @description The same request with the same key is worked on once, and gets the first answer again. */
        'Idempotency-Key'?: components['parameters']['IdempotencyKey'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "name": "ci",
         *       "scopes": [
         *         "events:write",
         *         "webhooks:read"
         *       ],
         *       "expires_at": "2099-01-01T00:00:00Z"
         *     }
         */
        'application/json': components['schemas']['NewApiKey'];
      };
    };
    responses: {
      /** @description The key, which no other answer shows. */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['IssuedApiKey'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `request_in_progress`: The same request is being worked on. `answer_not_kept`: It was carried out; the answer is not kept. `conflict`: Conflict. `quota_exceeded`: The account stores as much as it may. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. `idempotency_key_reused`: The Idempotency-Key belongs to another request. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  revokeApiKey: {
    parameters: {
      query?: {
        /** @description Yes, to revoke the last key that can issue others. */
        last?: 'true' | 'false';
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description It no longer counts. */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `last_admin_key`: The last key that can issue others. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  listPortalSessions: {
    parameters: {
      query?: {
        /** @description How many at most. */
        limit?: number;
        /** @description Where to go on: the export’s parameter `cursor`. */
        cursor?: string;
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of those that have not ended; those that last longest come first. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['PortalSessionPage'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  createPortalSession: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
        /** @description The same request with the same key is worked on once, and gets the first answer again. */
        'Idempotency-Key'?: components['parameters']['IdempotencyKey'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: {
      content: {
        /**
         * @example {
         *       "expires_in": 3600,
         *       "capabilities": [
         *         "read",
         *         "endpoints",
         *         "resend"
         *       ],
         *       "return_url": "https://app.example.com/settings/webhooks",
         *       "theme": {
         *         "name": "Example Ltd",
         *         "color": "#1f6feb",
         *         "mode": "system"
         *       }
         *     }
         */
        'application/json': components['schemas']['NewPortalSession'];
      };
    };
    responses: {
      /** @description The session, and the link that opens it: once, and within ten minutes. */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['IssuedPortalSession'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `request_in_progress`: The same request is being worked on. `answer_not_kept`: It was carried out; the answer is not kept. `conflict`: Conflict. `quota_exceeded`: The account stores as much as it may. `limit_reached`: A limit is reached. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. `idempotency_key_reused`: The Idempotency-Key belongs to another request. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  exchangePortalCode: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "code": "whc_0123456789abcdef_0123456789abcdefghjkmnpqrstvwxyz0123456789abcdefghjk"
         *     }
         */
        'application/json': components['schemas']['PortalCode'];
      };
    };
    responses: {
      /** @description The session, and the token to send as `Authorization: Bearer`, which no other answer shows. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['OpenedPortalSession'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  revokePortalSession: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description It no longer counts. */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  listAccounts: {
    parameters: {
      query?: {
        /** @description How many at most. */
        limit?: number;
        /** @description Where to go on: the export’s parameter `cursor`. */
        cursor?: string;
        /** @description What each of them has beside the rest. */
        include?: 'usage';
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of accounts. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['AccountPage'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  createAccount: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
        /** @description The same request with the same key is worked on once, and gets the first answer again. */
        'Idempotency-Key'?: components['parameters']['IdempotencyKey'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "name": "Example Ltd"
         *     }
         */
        'application/json': components['schemas']['NewAccount'];
      };
    };
    responses: {
      /** @description The account. */
      201: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Account'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `request_in_progress`: The same request is being worked on. `answer_not_kept`: It was carried out; the answer is not kept. `conflict`: Conflict. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. `idempotency_key_reused`: The Idempotency-Key belongs to another request. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  readAccount: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The account. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Account'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  eraseAccount: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Its keys and webhooks are gone; the rest goes in the background. */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Account'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `conflict`: Conflict. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  updateAccount: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "weight": 2
         *     }
         */
        'application/merge-patch+json': components['schemas']['AccountPatch'];
      };
    };
    responses: {
      /** @description The account. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Account'];
        };
      };
      /** @description `malformed_json`: The body is not JSON. */
      400: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `payload_too_large`: Too large. */
      413: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `unsupported_media_type`: Not JSON. */
      415: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  readAccountUsage: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description How much it stores. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['AccountUsage'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  readOperations: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description How it stood within the last second. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Operations'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  listTroubledWebhooks: {
    parameters: {
      query?: {
        /** @description How many at most. */
        limit?: number;
        /** @description Where to go on: the export’s parameter `cursor`. */
        cursor?: string;
        /** @description Whether its circuit breaker is open, or it is disabled. */
        state?: 'breaker_open' | 'disabled';
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of webhooks. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['TroubledWebhookPage'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  listDeadLetters: {
    parameters: {
      query?: {
        /** @description How many at most. */
        limit?: number;
        /** @description Where to go on: the export’s parameter `cursor`. */
        cursor?: string;
        /** @description The queue that it was on. */
        queue?: 'events' | 'deliveries' | 'replays' | 'erasures';
      };
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of dead letters. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DeadLetterPage'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  readDeadLetter: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The dead letter. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['DeadLetter'];
        };
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  dropDeadLetter: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description It is gone; a delivery or a replay whose job it was is cancelled. */
      204: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `conflict`: Conflict. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  redriveDeadLetter: {
    parameters: {
      query?: never;
      header?: {
        /** @description Whom the request acts for. Only keys of the operator's account may name another than their own. */
        'X-Account-Id'?: components['parameters']['AccountId'];
      };
      path: {
        /** @description Its id. */
        id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description It is back on its queue, and no dead letter any more. */
      202: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description `unauthenticated`: No valid API key. */
      401: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `insufficient_scope`: The API key lacks a scope. `operator_only`: Only for the operator. */
      403: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `not_found`: Not found. */
      404: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `conflict`: Conflict. */
      409: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `invalid_request`: The request is not valid. */
      422: {
        headers: {
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `rate_limited`: Too many requests. */
      429: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      /** @description `storage_unavailable`: The store is not reachable. */
      503: {
        headers: {
          /** @description Seconds until it makes sense to ask again. */
          'Retry-After'?: number;
          [name: string]: unknown;
        };
        content: {
          'application/problem+json': components['schemas']['Problem'];
        };
      };
      default: components['responses']['Problem'];
    };
  };
  receiveKeywordQuickWin: {
    parameters: {
      query?: never;
      header: {
        /** @description The event's id, the same on every attempt: by it duplicates are known. */
        'webhook-id': components['parameters']['WebhookId'];
        /**
         * @description When this attempt was made, in Unix seconds.
         * @example 1614265330
         */
        'webhook-timestamp': components['parameters']['WebhookTimestamp'];
        /**
         * @description Standard Webhooks 1.0: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`. During a rotation one for each live secret, newest first, separated by a space.
         * @example v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
         */
        'webhook-signature': components['parameters']['WebhookSignature'];
        /** @description `sha256=` and the hex of HMAC-SHA256 over the body, with the newest secret as it was issued. */
        'X-Service-Signature': components['parameters']['ServiceSignature'];
        /**
         * @description 1, 2, …
         * @example 1
         */
        'X-Service-Attempt': components['parameters']['ServiceAttempt'];
        /** @description `true` of an event that was made to try the webhook out; else it is not there. */
        'X-Service-Test'?: components['parameters']['ServiceTest'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "type": "keyword.quick_win",
         *       "data": {
         *         "keyword": "buy red shoes",
         *         "position": 11,
         *         "volume": 2400
         *       }
         *     }
         */
        'application/json': components['schemas']['KeywordQuickWinEvent'];
      };
    };
    responses: {
      /** @description Not delivered, and the webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Delivered. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Not delivered: tried again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  receiveBriefCreated: {
    parameters: {
      query?: never;
      header: {
        /** @description The event's id, the same on every attempt: by it duplicates are known. */
        'webhook-id': components['parameters']['WebhookId'];
        /**
         * @description When this attempt was made, in Unix seconds.
         * @example 1614265330
         */
        'webhook-timestamp': components['parameters']['WebhookTimestamp'];
        /**
         * @description Standard Webhooks 1.0: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`. During a rotation one for each live secret, newest first, separated by a space.
         * @example v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
         */
        'webhook-signature': components['parameters']['WebhookSignature'];
        /** @description `sha256=` and the hex of HMAC-SHA256 over the body, with the newest secret as it was issued. */
        'X-Service-Signature': components['parameters']['ServiceSignature'];
        /**
         * @description 1, 2, …
         * @example 1
         */
        'X-Service-Attempt': components['parameters']['ServiceAttempt'];
        /** @description `true` of an event that was made to try the webhook out; else it is not there. */
        'X-Service-Test'?: components['parameters']['ServiceTest'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "type": "brief.created",
         *       "data": {
         *         "brief_id": "brf_82h1",
         *         "title": "How to choose running shoes",
         *         "keyword": "running shoes",
         *         "url": "https://app.example.com/briefs/brf_82h1"
         *       }
         *     }
         */
        'application/json': components['schemas']['BriefCreatedEvent'];
      };
    };
    responses: {
      /** @description Not delivered, and the webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Delivered. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Not delivered: tried again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  receiveImportCompleted: {
    parameters: {
      query?: never;
      header: {
        /** @description The event's id, the same on every attempt: by it duplicates are known. */
        'webhook-id': components['parameters']['WebhookId'];
        /**
         * @description When this attempt was made, in Unix seconds.
         * @example 1614265330
         */
        'webhook-timestamp': components['parameters']['WebhookTimestamp'];
        /**
         * @description Standard Webhooks 1.0: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`. During a rotation one for each live secret, newest first, separated by a space.
         * @example v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
         */
        'webhook-signature': components['parameters']['WebhookSignature'];
        /** @description `sha256=` and the hex of HMAC-SHA256 over the body, with the newest secret as it was issued. */
        'X-Service-Signature': components['parameters']['ServiceSignature'];
        /**
         * @description 1, 2, …
         * @example 1
         */
        'X-Service-Attempt': components['parameters']['ServiceAttempt'];
        /** @description `true` of an event that was made to try the webhook out; else it is not there. */
        'X-Service-Test'?: components['parameters']['ServiceTest'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "type": "import.completed",
         *       "data": {
         *         "import_id": "imp_4k9x",
         *         "source": "csv",
         *         "total_rows": 1200,
         *         "failed_rows": 3
         *       }
         *     }
         */
        'application/json': components['schemas']['ImportCompletedEvent'];
      };
    };
    responses: {
      /** @description Not delivered, and the webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Delivered. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Not delivered: tried again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  receiveWebhookDisabled: {
    parameters: {
      query?: never;
      header: {
        /** @description The event's id, the same on every attempt: by it duplicates are known. */
        'webhook-id': components['parameters']['WebhookId'];
        /**
         * @description When this attempt was made, in Unix seconds.
         * @example 1614265330
         */
        'webhook-timestamp': components['parameters']['WebhookTimestamp'];
        /**
         * @description Standard Webhooks 1.0: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`. During a rotation one for each live secret, newest first, separated by a space.
         * @example v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
         */
        'webhook-signature': components['parameters']['WebhookSignature'];
        /** @description `sha256=` and the hex of HMAC-SHA256 over the body, with the newest secret as it was issued. */
        'X-Service-Signature': components['parameters']['ServiceSignature'];
        /**
         * @description 1, 2, …
         * @example 1
         */
        'X-Service-Attempt': components['parameters']['ServiceAttempt'];
        /** @description `true` of an event that was made to try the webhook out; else it is not there. */
        'X-Service-Test'?: components['parameters']['ServiceTest'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "type": "webhook.disabled",
         *       "data": {
         *         "webhook_id": "wh_01m7z10j4pcztef8hye093",
         *         "url": "https://receiver.example.com/hooks",
         *         "reason": "failing",
         *         "disabled_at": "2026-11-21T12:24:02.454Z"
         *       }
         *     }
         */
        'application/json': components['schemas']['WebhookDisabledEvent'];
      };
    };
    responses: {
      /** @description Not delivered, and the webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Delivered. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Not delivered: tried again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  receiveWebhookFailing: {
    parameters: {
      query?: never;
      header: {
        /** @description The event's id, the same on every attempt: by it duplicates are known. */
        'webhook-id': components['parameters']['WebhookId'];
        /**
         * @description When this attempt was made, in Unix seconds.
         * @example 1614265330
         */
        'webhook-timestamp': components['parameters']['WebhookTimestamp'];
        /**
         * @description Standard Webhooks 1.0: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`. During a rotation one for each live secret, newest first, separated by a space.
         * @example v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
         */
        'webhook-signature': components['parameters']['WebhookSignature'];
        /** @description `sha256=` and the hex of HMAC-SHA256 over the body, with the newest secret as it was issued. */
        'X-Service-Signature': components['parameters']['ServiceSignature'];
        /**
         * @description 1, 2, …
         * @example 1
         */
        'X-Service-Attempt': components['parameters']['ServiceAttempt'];
        /** @description `true` of an event that was made to try the webhook out; else it is not there. */
        'X-Service-Test'?: components['parameters']['ServiceTest'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "type": "webhook.failing",
         *       "data": {
         *         "webhook_id": "wh_01m7z10j4pcztef8hye093",
         *         "url": "https://receiver.example.com/hooks",
         *         "event_id": "evt_01m7z10j5c4fq3r52bewgh",
         *         "delivery_id": "evt_01m7z10j5c4fq3r52bewgh.wh_01m7z10j4pcztef8hye093",
         *         "type": "keyword.quick_win",
         *         "attempt_count": 4,
         *         "last_outcome": "http_5xx",
         *         "last_response_status": 503
         *       }
         *     }
         */
        'application/json': components['schemas']['WebhookFailingEvent'];
      };
    };
    responses: {
      /** @description Not delivered, and the webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Delivered. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Not delivered: tried again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  receiveWebhookRecovered: {
    parameters: {
      query?: never;
      header: {
        /** @description The event's id, the same on every attempt: by it duplicates are known. */
        'webhook-id': components['parameters']['WebhookId'];
        /**
         * @description When this attempt was made, in Unix seconds.
         * @example 1614265330
         */
        'webhook-timestamp': components['parameters']['WebhookTimestamp'];
        /**
         * @description Standard Webhooks 1.0: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`. During a rotation one for each live secret, newest first, separated by a space.
         * @example v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
         */
        'webhook-signature': components['parameters']['WebhookSignature'];
        /** @description `sha256=` and the hex of HMAC-SHA256 over the body, with the newest secret as it was issued. */
        'X-Service-Signature': components['parameters']['ServiceSignature'];
        /**
         * @description 1, 2, …
         * @example 1
         */
        'X-Service-Attempt': components['parameters']['ServiceAttempt'];
        /** @description `true` of an event that was made to try the webhook out; else it is not there. */
        'X-Service-Test'?: components['parameters']['ServiceTest'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "type": "webhook.recovered",
         *       "data": {
         *         "webhook_id": "wh_01m7z10j4pcztef8hye093",
         *         "url": "https://receiver.example.com/hooks",
         *         "failing_since": "2026-11-21T12:24:02.454Z",
         *         "recovered_at": "2026-11-21T15:02:43.120Z"
         *       }
         *     }
         */
        'application/json': components['schemas']['WebhookRecoveredEvent'];
      };
    };
    responses: {
      /** @description Not delivered, and the webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Delivered. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Not delivered: tried again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  receiveDeliveryExhausted: {
    parameters: {
      query?: never;
      header: {
        /** @description The event's id, the same on every attempt: by it duplicates are known. */
        'webhook-id': components['parameters']['WebhookId'];
        /**
         * @description When this attempt was made, in Unix seconds.
         * @example 1614265330
         */
        'webhook-timestamp': components['parameters']['WebhookTimestamp'];
        /**
         * @description Standard Webhooks 1.0: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`. During a rotation one for each live secret, newest first, separated by a space.
         * @example v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=
         */
        'webhook-signature': components['parameters']['WebhookSignature'];
        /** @description `sha256=` and the hex of HMAC-SHA256 over the body, with the newest secret as it was issued. */
        'X-Service-Signature': components['parameters']['ServiceSignature'];
        /**
         * @description 1, 2, …
         * @example 1
         */
        'X-Service-Attempt': components['parameters']['ServiceAttempt'];
        /** @description `true` of an event that was made to try the webhook out; else it is not there. */
        'X-Service-Test'?: components['parameters']['ServiceTest'];
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        /**
         * @example {
         *       "type": "delivery.exhausted",
         *       "data": {
         *         "delivery_id": "evt_01m7z10j5c4fq3r52bewgh.wh_01m7z10j4pcztef8hye093",
         *         "event_id": "evt_01m7z10j5c4fq3r52bewgh",
         *         "webhook_id": "wh_01m7z10j4pcztef8hye093",
         *         "type": "keyword.quick_win",
         *         "attempt_count": 10
         *       }
         *     }
         */
        'application/json': components['schemas']['DeliveryExhaustedEvent'];
      };
    };
    responses: {
      /** @description Not delivered, and the webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Delivered. */
      '2XX': {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Not delivered: tried again later. */
      default: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
}

/** Routes that take an `Idempotency-Key`. */
export const routesWithIdempotencyKey: ReadonlySet<string> = new Set([
  'POST /v1/webhooks',
  'POST /v1/webhooks/{id}/rotate-secret',
  'POST /v1/webhooks/{id}/test',
  'POST /v1/deliveries/{id}/redeliver',
  'POST /v1/webhooks/{id}/replays',
  'POST /v1/events',
  'POST /v1/events/batch',
  'POST /v1/api-keys',
  'POST /v1/portal-sessions',
  'POST /v1/accounts',
]);
