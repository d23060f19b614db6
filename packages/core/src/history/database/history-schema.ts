/**
 * The tables of the history. A partition is a day of acceptance (UTC) of what is kept for equally many days, so a
 * day goes by being dropped. Each key and index begins with the account: the tables can be distributed by it.
 *
 * Columns of eight bytes come first, then shorter ones, then texts: there is no padding between them. A delivery's
 * key stands for its two ids, and a hash for a long name: an index is half as large then. What only grows at its end is
 * filled up.
 */
export const HISTORY_SCHEMA = `
CREATE TYPE webhook_status AS ENUM ('pending', 'delivered', 'exhausted', 'aborted', 'cancelled');
CREATE TYPE webhook_trigger AS ENUM ('schedule', 'manual', 'replay', 'test');
CREATE TYPE webhook_outcome AS ENUM ('delivered', 'http_1xx', 'http_3xx', 'http_4xx', 'http_5xx', 'blocked_address',
  'dns_error', 'connect_refused', 'connect_timeout', 'connection_reset', 'tls_error', 'response_timeout',
  'protocol_error', 'network_error');

CREATE TABLE webhook_events (
  accepted_at   timestamptz NOT NULL,
  erased_at     timestamptz,
  keep_days     smallint NOT NULL,
  is_aimed      boolean NOT NULL,
  is_searchable boolean NOT NULL,
  account_id    text COLLATE "C" NOT NULL,
  event_id      text COLLATE "C" NOT NULL,
  type          text COLLATE "C" NOT NULL,
  data          text,
  trace         text,
  PRIMARY KEY (account_id, event_id, accepted_at, keep_days) WITH (fillfactor = 100)
) PARTITION BY RANGE (keep_days, accepted_at);
CREATE INDEX ON webhook_events (account_id, accepted_at) WITH (fillfactor = 100);
CREATE INDEX ON webhook_events (account_id, hashtext(type), accepted_at);
CREATE INDEX ON webhook_events
  USING gin ((('{"' || account_id || '":' || data || '}')::jsonb) jsonb_path_ops) WHERE is_searchable;

CREATE TABLE webhook_deliveries (
  accepted_at     timestamptz NOT NULL,
  delivery_key    bigint NOT NULL,
  last_attempt_at timestamptz,
  status          webhook_status NOT NULL,
  last_outcome    webhook_outcome,
  keep_days       smallint NOT NULL,
  attempt_count   smallint NOT NULL,
  response_status smallint,
  account_id      text COLLATE "C" NOT NULL,
  event_id        text COLLATE "C" NOT NULL,
  webhook_id      text COLLATE "C" NOT NULL,
  type            text COLLATE "C" NOT NULL,
  other_lines     text NOT NULL,
  PRIMARY KEY (account_id, accepted_at, delivery_key, keep_days) WITH (fillfactor = 100)
) PARTITION BY RANGE (keep_days, accepted_at);
CREATE INDEX ON webhook_deliveries (account_id, hashtext(webhook_id), accepted_at);
CREATE INDEX ON webhook_deliveries (account_id, hashtext(type), accepted_at);
CREATE INDEX ON webhook_deliveries (account_id, accepted_at) WHERE status <> 'delivered';
CREATE INDEX ON webhook_deliveries (account_id, status, accepted_at) WHERE status <> 'delivered';
CREATE INDEX ON webhook_deliveries (account_id, last_outcome, accepted_at) WHERE last_outcome <> 'delivered';
CREATE INDEX ON webhook_deliveries (account_id, response_status, accepted_at)
  WHERE response_status IS NULL OR response_status NOT IN (200, 202, 204);
CREATE INDEX ON webhook_deliveries (account_id, (coalesce(response_status, 0) / 100), accepted_at)
  WHERE response_status IS NULL OR response_status NOT IN (200, 202, 204);

CREATE TABLE webhook_attempts (
  delivery_key     bigint NOT NULL,
  started_at       timestamptz NOT NULL,
  accepted_at      timestamptz NOT NULL,
  next_attempt_at  timestamptz,
  duration_ms      double precision NOT NULL,
  dns_ms           double precision,
  connect_ms       double precision,
  tls_ms           double precision,
  first_byte_ms    double precision,
  number           integer NOT NULL,
  response_status  integer,
  status           webhook_status NOT NULL,
  trigger          webhook_trigger NOT NULL,
  outcome          webhook_outcome NOT NULL,
  keep_days        smallint NOT NULL,
  position         smallint NOT NULL,
  is_late          boolean,
  account_id       text COLLATE "C" NOT NULL,
  delivery_id      text COLLATE "C" NOT NULL,
  event_id         text COLLATE "C" NOT NULL,
  webhook_id       text COLLATE "C" NOT NULL,
  type             text NOT NULL,
  worker           text,
  added_headers    text[],
  response_headers jsonb,
  response_body    text,
  error            text,
  trace            text,
  exact            text,
  PRIMARY KEY (account_id, accepted_at, delivery_key, position, keep_days) WITH (fillfactor = 100)
) PARTITION BY RANGE (keep_days, accepted_at);

CREATE TABLE webhook_rollups (
  start      timestamptz NOT NULL,
  attempts   integer NOT NULL,
  delivered  integer NOT NULL,
  retried    integer NOT NULL,
  exhausted  integer NOT NULL,
  keep_days  smallint NOT NULL,
  grain      text COLLATE "C" NOT NULL,
  dimension  text COLLATE "C" NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  value      text COLLATE "C" NOT NULL,
  durations  bigint[] NOT NULL,
  lags       bigint[] NOT NULL,
  PRIMARY KEY (account_id, grain, dimension, start, value, keep_days)
) PARTITION BY RANGE (keep_days, start);

CREATE TABLE webhook_usage (
  account_id text COLLATE "C" NOT NULL,
  day        date NOT NULL,
  keep_days  smallint NOT NULL,
  bytes      bigint NOT NULL,
  PRIMARY KEY (account_id, day, keep_days)
);

CREATE TABLE webhook_retentions (keep_days smallint PRIMARY KEY);

CREATE FUNCTION webhook_add_counts(a bigint[], b bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(array_agg(bucket << 32 | count ORDER BY bucket), '{}') FROM (
    SELECT entry >> 32 AS bucket, sum(entry & 4294967295)::bigint AS count FROM unnest(a || b) AS entry GROUP BY 1
  ) AS sums
$$;
`;

/** An outcome that came later. */
export const ADD_TOKEN_ERROR = `ALTER TYPE webhook_outcome ADD VALUE 'token_error'`;

/** Of events that were published to be sent later: see `EventRow`. */
export const SCHEDULES = `
ALTER TABLE webhook_events ADD COLUMN published_at timestamptz, ADD COLUMN cancelled_due_at timestamptz;
`;
/** Another one. */
export const ADD_TRANSFORM_ERROR = `ALTER TYPE webhook_outcome ADD VALUE 'transform_error'`;
export const ADD_REJECTED_IN_BATCH = `ALTER TYPE webhook_outcome ADD VALUE 'rejected_in_batch'`;

/** Of events that belong to a group, and deliveries that ended for a newer one of it. */
export const GROUPS = `
ALTER TABLE webhook_events ADD COLUMN event_group text;
ALTER TYPE webhook_status ADD VALUE 'superseded';
`;

/** Of attempts: what was sent in another form than the usual one, and why a token was not given. */
export const ATTEMPT_DETAILS = `
ALTER TABLE webhook_attempts ADD COLUMN transform_version integer, ADD COLUMN token_status integer,
  ADD COLUMN token_error text, ADD COLUMN batch_id text, ADD COLUMN content_headers jsonb;
`;

/** Of attempts. It takes half the bytes of a text, and can be searched by network. */
export const REMOTE_ADDRESSES = `ALTER TABLE webhook_attempts ADD COLUMN remote_address inet`;

/** Of attempts, as the line of the log has them: few are held, and only to be shown. */
export const HOLDS = `ALTER TABLE webhook_attempts ADD COLUMN holds text`;

/** Of attempts: see `AttemptColumns`. */
export const ROUNDS = `ALTER TABLE webhook_attempts ADD COLUMN round integer`;

/** Of events: the request that published them. */
export const REQUEST_IDS = `ALTER TABLE webhook_events ADD COLUMN request_id text`;

/** Counts below zero take away what was counted before: they are written modulo 2^32. */
export const TAKE_FROM_COUNTS = `
CREATE OR REPLACE FUNCTION webhook_add_counts(a bigint[], b bigint[]) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(array_agg(bucket << 32 | count ORDER BY bucket), '{}') FROM (
    SELECT entry >> 32 AS bucket, sum(entry & 4294967295)::bigint & 4294967295 AS count FROM unnest(a || b) AS entry GROUP BY 1
  ) AS sums WHERE count > 0
$$;
`;
