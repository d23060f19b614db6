import type { Fault } from '../kernel/app-error';
import { jsonPointer } from '../kernel/faults';
import type { Endpoint } from '../model/endpoint';
import type { EndpointPatch } from './endpoint-input';

type Sent = Pick<Endpoint, 'url' | 'headers' | 'tls'>;

/** What is said of a secret that a change would take along. */
export const GIVE_ANEW =
  'must be given anew or removed, as where requests go changes (url, tls.ca) and a portal session without the capability "secrets" must not take its value along';

/**
 * The secrets of an endpoint that a change would take to another place than they were given for: values of its headers,
 * which are sent as they are, and the key that proves who calls. Another place is any other URL, as one host may serve
 * many customers by path, and any other authority, as one that the client chose can vouch for whoever is in between.
 */
export function movedSecrets(
  before: Sent,
  after: Sent,
  patch: Pick<EndpointPatch, 'headers' | 'tls'>,
): Fault[] {
  if (before.url === after.url && before.tls?.ca === after.tls?.ca) return [];
  const headers = Object.keys(before.headers ?? {}).filter((name) => isKept(patch.headers, name));
  const pointers = headers.map((name) => jsonPointer(['headers', name]));
  if (before.tls?.key !== undefined && isKept(patch.tls, 'key')) pointers.push('/tls/client_key');
  return pointers.map((pointer) => ({ pointer, detail: GIVE_ANEW }));
}

/** Whether a merge patch says nothing of a member. */
function isKept(patch: object | null | undefined, name: string): boolean {
  if (patch === null) return false;
  return new Map(Object.entries(patch ?? {})).get(name) === undefined;
}
