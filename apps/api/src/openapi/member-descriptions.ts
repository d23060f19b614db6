import { endpointSettings, type Setting } from '@hookferry/core/domain/endpoint-settings';
import type { Json } from './operation';

/**
 * The descriptions of members and parameters without one of their own, by name: it is the same everywhere.
 */
const BY_NAME: Readonly<Record<string, string>> = {
  ...describeSettings(),
  alg: 'How it signs.',
  aborted: 'Those that ended because the receiver answered 410.',
  account: 'Whose it is to be; the request’s own unless given. Only operators may name another.',
  answers: 'Bytes of answers that are kept for repeated requests.',
  api_keys: 'How many API keys there are.',
  attempt: 'The attempt.',
  attempt_count: 'How many attempts there were so far.',
  attempts: 'Every attempt, the first one first.',
  attempts_24h: 'How many attempts there were within the last 24 hours.',
  attempts_made: 'How often a worker tried to do the job.',
  audience: 'For what the access token is to be good, where the authorization server asks for it.',
  auth: 'What requests to it carry in `Authorization`, beside their signatures. Answers show none of its secrets.',
  breaker:
    'Whether deliveries are let through: `open` after a run of failures, `half_open` while one is tried.',
  ca: 'Certificates that the receiver’s certificate may be signed by, instead of the usual ones. PEM.',
  cancelled: 'Those that ended because their webhook, or what was to be sent, was gone.',
  capabilities:
    'What it may be used for. `read`, which always belongs to it: to see webhooks and deliveries; `webhooks`: to make and change webhooks; `resend`: to send again; `schedule`: to move and cancel scheduled events; `secrets`: to see and rotate secrets; `audit`: to see the audit log; `operate`: what operators do.',
  client_certificate: 'What the service shows to the receiver. PEM, with its chain.',
  client_key: 'The private key of `client_certificate`. PEM. No answer shows it.',
  client_id: 'What the authorization server knows the service by.',
  client_secret: 'Goes to the token URL with `client_id`. No answer shows it.',
  connect_ms: 'For TCP; null over a connection that was kept alive.',
  crv: 'The curve.',
  cursor: 'Where to go on: the export’s parameter `cursor`.',
  cloudevents_source: 'The `source` of the CloudEvents of webhooks that have none of their own.',
  default_signing: 'How new webhooks are signed that say nothing of it themselves.',
  delivered: 'Those that a receiver has accepted.',
  deliveries: 'How many deliveries there are, or how many bytes they take.',
  delivery: 'The delivery, with what is known of it by this change.',
  delivery_count: 'How many webhooks it went to.',
  delivery_id: 'The delivery, as in `GET /v1/deliveries/{id}`.',
  deprecated: 'Events of it are still taken, but nobody should begin to use it.',
  detail: 'What is wrong, for people.',
  disabled_reason:
    'Why it is disabled: by request, because its receiver answered 410, because it failed for too long, or because the operator paused the account.',
  digest: 'Whether it gets all together at the full hour or day (UTC); null or absent: each at once.',
  dns_ms: 'For looking up the name; null if it was not looked up.',
  dry_run: 'Whether it only counts, and sends nothing.',
  duration_ms: 'From its beginning to its end.',
  enqueued: 'How many of them were put onto the queue.',
  endpoint_verification: 'Whether new and changed webhooks get nothing before they are verified.',
  errors: 'Each fault of the request, with where it is.',
  event_id: 'The event. Receivers get it in `webhook-id`.',
  event_type: 'Only those of this event type, or that asked for it.',
  events: 'Event types: names, prefixes such as `keyword.*`, or `*` for all.',
  events_left: 'How many events are still to be erased.',
  example: 'Data as its schema asks.',
  exhausted: 'Those that ended because every attempt failed.',
  exchange: 'Which delivery it is about, as the line `delivery` has named it.',
  exchanged_at: 'When its link was opened; null: not yet.',
  expires_in: 'After how many seconds it ends.',
  failed_at: 'When it was given up.',
  fingerprint_sha256: 'SHA-256 of the certificate.',
  filter: 'Which of these events it gets, by their `data`.',
  finished_at: 'When it ended; null: not yet.',
  first_byte_ms: 'From the end of the request to the first byte of the answer.',
  found: 'How many events it has chosen so far.',
  group_by: 'What has a point of its own; without it, there is one for all.',
  has_more: 'Whether there is another page.',
  headers: 'Headers that each request to it has. Answers show their names, and not what they are.',
  health: 'How it is doing.',
  held: 'Those that wait, without using up attempts, until their webhook can take them.',
  history_retention:
    'How long its history is kept: whole days, such as `30d`; null: as long as that of any account.',
  hold: 'Why it is held, and until when; null if it is not held, or its webhook is gone.',
  hours: 'The last 24 hours, each of them, the oldest first.',
  include: 'What each of them has beside the rest.',
  interval: 'How long the time of a point is; without a history it is an hour.',
  key: 'The API key. No other answer shows it.',
  last: 'Yes, to revoke the last key that can issue others.',
  immediate: 'After a leak: the new key signs at once, and all others are taken away.',
  jwks_path: 'Where the public keys are published without a key of the API.',
  keys: 'The public keys, newest first.',
  kind: 'How the contact is told.',
  kid: 'Names the key: its thumbprint (RFC 7638), sent as `webhook-key-id`.',
  kty: 'The kind of key (RFC 8037).',
  last_failure_at: 'When an attempt failed last; null: never.',
  last_outcome: 'What came of the last attempt; null before there was one.',
  last_event_id: 'Where to go on: the id of the last event that was seen.',
  last_response_status: 'What the last attempt was answered with; null: with nothing, or there was none.',
  last_success_at: 'When an attempt was accepted last; null: never.',
  last_used_at: 'When it was used last, to within a few minutes; null: never.',
  limit: 'How many at most.',
  max_seconds: 'After so long it ends; connect again.',
  metadata: 'Texts of your own, by name.',
  mode: 'Which events: `failed`, those whose delivery failed; `missing`, those that have none; `all`.',
  next_attempt_at: 'When the next attempt is due; null: there is none, or it is not known yet.',
  next_cursor: 'The parameter `cursor` of the next page; null on the last one.',
  number: '1, 2, …',
  outcome: 'What came of it: `delivered`, or in what way it failed.',
  overlap_seconds: 'For how long the secrets so far go on to sign.',
  p95_ms: 'How long 95 % of the attempts took at most, to within an eighth; null: not known.',
  parallel: 'How many deliveries may be under way at the same time.',
  password: 'No answer shows it.',
  pending: 'Those that are on their way, or wait for their next attempt.',
  pointer: 'Where in the request: a JSON Pointer into the body, or `?/name` for a query parameter.',
  previous_secret_expires_at: 'Until when the secrets so far sign as well.',
  private_key:
    'Signs the assertion by which the service shows who it is (RFC 7523), in place of `client_secret`: PKCS #8 in PEM, or a JWK. No answer shows it.',
  public_key: 'The public key: `whpk_` and the base64 of its 32 bytes.',
  published_until: 'When it leaves the set; null: there is no newer key yet.',
  queue: 'The queue that it was on.',
  quota_bytes: 'How many bytes the account may store; null: as many as there is room for.',
  rate: 'How many a second are put onto the queue.',
  replay_id: 'The replay.',
  replays: 'Bytes of the records of replays.',
  request_headers:
    'Headers of the request that say something; signatures and the webhook’s own headers are masked.',
  request_id: 'Leads to this request in the service’s log.',
  requested_at: 'When it was asked for.',
  response_body: 'The beginning of the answer’s body; null if there was none.',
  response_headers: 'Headers of the answer that say something; null of one that was accepted.',
  response_status: 'The answer’s status; null if there was no answer.',
  return_url: 'Where the page leads back to, for people whose session has ended.',
  schema: 'JSON Schema 2020-12 of `data`.',
  scope: 'What the access token is to allow, as the authorization server names it.',
  scopes: 'What it may be used for.',
  secret: 'What deliveries are signed with: `whsec_` and base64.',
  since: 'From this time on.',
  signs_from: 'When it begins to sign.',
  signs_until: 'When the next key begins to sign; null: there is none.',
  slots: 'How many attempts it makes at the same time.',
  started_at: 'When it began.',
  status_class: 'Only those whose last attempt was answered so; `none`: was not answered.',
  subject: 'Whose certificate it is.',
  success_rate: 'The share of the attempts of the last 24 hours that were accepted; null: there were none.',
  theme: 'How the page looks.',
  timings: 'How long each part of it took.',
  title: 'The kind of error, for people.',
  tls: 'Certificates of its own.',
  tls_ms: 'For TLS; null over a connection that was kept alive, and without TLS.',
  token: 'What to send as `Authorization: Bearer`. No other answer shows it.',
  token_url: 'Where access tokens come from (OAuth2 client credentials).',
  total_ms: 'All of it.',
  trigger: 'Why it was made: by schedule, by hand, by a replay, or as a test.',
  type: 'The event type.',
  until: 'Up to this time.',
  updated_at: 'When it was changed last.',
  username: 'Of HTTP Basic authentication.',
  use: 'What it is for.',
  url: 'Where deliveries are sent to.',
  verification: 'Whether the receiver has proved that it wants what is sent there.',
  verified_at: 'When the receiver proved it.',
  webhook_id: 'The id of the webhook.',
  webhook_ids:
    'The only webhooks that get the event, by id or `uid`; each that asked for its type unless given.',
  webhooks: 'How many webhooks there are.',
  webhooks_left: 'How many webhooks are still to be erased.',
  weight: 'How large the account’s turn is beside the others’: 1 to 100.',
  x: 'The public key: its 32 bytes in base64url.',
  worker: 'Which worker made it; null: not known any more.',
};

const EVENT_HEAD = {
  id: "The event's id: yours, or the one that was made up.",
  created_at: 'When the event was accepted.',
};

/** Of schemas whose members have no schema of their own to be described in. */
const IN_SCHEMA: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Fault: { detail: 'What is wrong there, for people.' },
  StoredBytes: {
    events: 'Bytes of events.',
    portal_sessions: 'Bytes of portal sessions that have not ended, with their logos.',
  },
  EventBatch: { events: 'The events. Each has an outcome of its own.' },
  HeldByReason: {
    disabled: 'Their webhook is disabled.',
    unverified: 'Their webhook has to be verified, and is not.',
    breaker_open: 'Their webhook fails.',
    busy: 'There is no place for another attempt.',
    rate_limited: 'They wait for their turn within a rate limit.',
    out_of_turn: 'Another delivery of their webhook goes before them.',
    batching: 'They wait for others to go in one request with.',
    no_token: 'The token URL of their webhook gives no access token.',
  },
  WorkerSlots: {
    quick: 'For those that have just begun.',
    slow: 'For those that take longer than 250 ms.',
  },
  HealthHour: {
    at: 'When it began.',
    successes: 'Attempts that were accepted.',
    failures: 'Attempts that failed.',
  },
  NewEvent: {
    data: 'What there is to tell, as the schema of the event type asks.',
    id: 'An id of your own: what comes a second time under it is not delivered again. Made up unless given.',
    type: 'The event type, which must be one of the catalogue.',
  },
  NewReplay: {
    since: 'From this time on, which must be before `until`.',
    until: 'Up to this time; up to now unless given.',
  },
  PortalCode: { code: 'What stands behind `#code=` in the link.' },
  PortalTheme: {
    name: 'Whose page it is, for people.',
    logo: 'An image, as a `data:` URI.',
    color: 'What buttons and links are coloured by: `#rrggbb`.',
    mode: 'Light or dark, or as people have set it for all pages.',
  },
  DeadLetter: { data: 'The data of the job.' },
  AcceptedEvent: EVENT_HEAD,
  AcceptedOfBatch: EVENT_HEAD,
  NewApiKey: { expires_at: 'When the key is to stop working; null: never.' },
  RefusedOfBatch: { error: 'Why the event was refused, as the answer to it alone would say.' },
};

function describeSettings() {
  const described = Object.entries<Setting>(endpointSettings).flatMap(([name, { description }]) =>
    description === undefined ? [] : [[name, description]],
  );
  return Object.fromEntries(described) as Record<string, string>;
}

/** The document with a description for each member and parameter. */
export function describeMembers(node: unknown, schema = ''): unknown {
  if (Array.isArray(node)) return node.map((item: unknown) => describeMembers(item, schema));
  if (typeof node !== 'object' || node === null) return node;
  const entries = Object.entries(node).map(([name, value]: [string, unknown]) => {
    if (name === 'properties') return [name, describeEach(value, schema)];
    if (name === 'example' || name === 'examples') return [name, value];
    return [name, describeMembers(value, /^[A-Z]/.test(name) ? name : schema)];
  });
  return withOwn(Object.fromEntries(entries) as Json);
}

function describeEach(properties: unknown, schema: string): Json {
  const entries = Object.entries(properties as Json).map(([name, member]) => {
    const described = describeMembers(member, schema) as Json;
    const ofEvent = name === 'data' && schema.endsWith('Event') ? 'The data of the event.' : undefined;
    const description = described.description ?? IN_SCHEMA[schema]?.[name] ?? BY_NAME[name] ?? ofEvent;
    return [name, description === undefined ? described : { ...described, description }];
  });
  return Object.fromEntries(entries) as Json;
}

function withOwn(node: Json): Json {
  if (typeof node.in !== 'string' || typeof node.name !== 'string' || node.description !== undefined)
    return node;
  const description = BY_NAME[node.name];
  return description === undefined ? node : { ...node, description };
}
