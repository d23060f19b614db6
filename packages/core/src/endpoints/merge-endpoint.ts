import { invalidRequest } from '../errors/invalid-request';
import { checkTls } from './check-tls';
import { MAX_HEADERS } from './custom-headers';
import { type Endpoint, endpointSchema } from './endpoint';
import type { EndpointPatch } from './endpoint-input';
import { mergePatch } from './merge-patch';
import { MAX_METADATA } from './metadata';

/**
 * What an endpoint becomes by what a client says of it, be it a new one or a patch.
 *
 * @throws AppError `invalid_request` when it has too much of something, or TLS material that doesn't go together.
 */
export function mergeEndpoint(base: Partial<Endpoint>, patch: EndpointPatch, now: number): Endpoint {
  const { tls, ...merged } = requireBounds(endpointSchema.parse(mergePatch(base, patch)));
  if (tls === undefined || Object.keys(tls).length === 0) return merged;
  // Only what is changed: a certificate that expires later must not stand in the way of other changes.
  if (patch.tls) checkTls(tls, now);
  return { ...merged, tls };
}

// What a patch adds to can only be counted once it is merged.
function requireBounds(endpoint: Endpoint): Endpoint {
  const bounds = { metadata: MAX_METADATA, headers: MAX_HEADERS };
  const faults = Object.entries(bounds)
    .filter(([member, most]) => Object.keys(endpoint[member as keyof typeof bounds] ?? {}).length > most)
    .map(([member, most]) => ({ pointer: `/${member}`, detail: `must have at most ${most} members` }));
  if (faults.length > 0) throw invalidRequest(faults);
  return endpoint;
}
