import { z } from 'zod';
import type { AccountId } from '../domain/account';
import { type Endpoint, endpointSchema } from '../domain/endpoint';
import { keys } from '../domain/keys';
import type { Sealer } from './seal';

/** An endpoint's record in the store, and back: JSON in which everything secret is sealed. */
export function createEndpointCodec(sealer: Sealer) {
  return {
    encode(endpoint: Endpoint): string {
      return JSON.stringify(mapSecrets(endpoint, sealer.seal));
    },

    /** @throws AppError `secret_unreadable`. */
    decode(raw: string): Endpoint {
      return mapSecrets(endpointSchema.parse(JSON.parse(raw)), sealer.open);
    },
  };
}

const subscriberSchema = endpointSchema.pick({
  id: true,
  events: true,
  filter: true,
  status: true,
  ordering: true,
});
/** An endpoint, as far as it must be known to tell which events it gets. */
export type Subscriber = Readonly<z.infer<typeof subscriberSchema>>;

/** As much of a record as says what the endpoint asked for, also of one whose secrets can't be read. */
export function parseSubscriber(raw: string): Subscriber {
  return subscriberSchema.parse(JSON.parse(raw));
}

/** The same kept apart from the record, which may be a thousand times as long. */
export function encodeSubscription({ events, filter, status, ordering }: Subscriber): string {
  return JSON.stringify({ events, filter, status, ordering });
}

export function decodeSubscription(id: string, raw: string): Subscriber {
  return subscriberSchema.parse({ id, ...(JSON.parse(raw) as object) });
}

type MapText = (text: string, owner: string) => string;

// Each is bound to its account, its endpoint and its place, so that it opens nowhere else.
function mapSecrets(endpoint: Endpoint, map: MapText): Endpoint {
  const owner = `${endpoint.accountId}/${endpoint.id}`;
  const { secrets, headers, tls } = endpoint;
  return {
    ...endpoint,
    secrets: secrets.map((each) => ({ ...each, secret: map(each.secret, `${owner}/secret`) })),
    ...(headers === undefined ? {} : { headers: mapHeaders(headers, map, owner) }),
    ...(tls === undefined ? {} : { tls: mapTls(tls, map, owner) }),
  };
}

function mapHeaders(headers: NonNullable<Endpoint['headers']>, map: MapText, owner: string) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, map(value, `${owner}/headers.${name}`)]),
  );
}

function mapTls({ ca, certificate, key }: NonNullable<Endpoint['tls']>, map: MapText, owner: string) {
  return {
    ...(ca === undefined ? {} : { ca: map(ca, `${owner}/tls.ca`) }),
    ...(certificate === undefined ? {} : { certificate: map(certificate, `${owner}/tls.certificate`) }),
    ...(key === undefined ? {} : { key: map(key, `${owner}/tls.key`) }),
  };
}

/**
 * Keys of an account's endpoints, in the order in which the scripts know them. All have the account's hash tag, so each
 * change is one atomic script, in a Cluster too.
 */
export function endpointsKeys(accountId: AccountId): readonly string[] {
  return [
    keys.endpoints(accountId),
    keys.endpointIds(accountId),
    keys.endpointsVersion(accountId),
    keys.endpointUids(accountId),
    keys.subscriptions(accountId),
  ];
}

/**
 * Where the subscriptions note for which version of the account they hold. A change of what a subscription is takes another
 * name: what another version of this service has made is then made anew, and so is ours by that one.
 */
export const MADE_AT = 'version:2';

/**
 * The piece of script that each change of an account's endpoints begins with. It sets `version`, and `is_current`: whether
 * the subscriptions were those of the records until now, so that whoever changes both together may say so with `version`.
 * Else some process that knows no subscriptions has changed records, and the next reader makes them anew. Those of the first
 * endpoint of an account are current by themselves, whatever an erasure by such a process has left.
 *
 * A version must never come back: were it counted from 0 again once an account is erased, what a process remembers of the
 * one before would be taken for the one after. So it starts at the time, and no account changes more often than that runs.
 */
export const COUNT_UP = `
  local before = redis.call('GET', KEYS[3])
  local is_current = before and redis.call('HGET', KEYS[5], '${MADE_AT}') == before
  if not before and redis.call('ZCARD', KEYS[2]) == 0 then
    redis.call('UNLINK', KEYS[5])
    is_current = true
  end
  redis.call('SET', KEYS[3], redis.call('TIME')[1], 'NX')
  redis.call('INCR', KEYS[3])
  local version = redis.call('GET', KEYS[3])`;
