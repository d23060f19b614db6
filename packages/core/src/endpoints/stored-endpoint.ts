import { z } from 'zod';
import { type Endpoint, endpointSchema } from '../model/endpoint';
import type { Sealer } from './seal';

/** An endpoint's record in the store, and back: JSON in which everything secret is sealed. */
export function createEndpointCodec(sealer: Sealer) {
  return {
    encode(endpoint: Endpoint): string {
      return JSON.stringify(mapSecrets(endpoint, sealer.seal));
    },

    /** @throws AppError `secret_unreadable`. */
    decode(raw: string): Endpoint {
      return mapSecrets(storedEndpointSchema.parse(JSON.parse(raw)), sealer.open);
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

const storedEndpointSchema = z.preprocess(readFormerRecord, endpointSchema);

// Before secrets could be rotated, there was one of them.
function readFormerRecord(record: unknown): unknown {
  if (typeof record !== 'object' || record === null || !('secret' in record)) return record;
  const { secret, ...rest } = record;
  return { secrets: [{ secret, createdAt: 'createdAt' in rest ? rest.createdAt : undefined }], ...rest };
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
