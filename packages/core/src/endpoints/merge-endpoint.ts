import { invalidRequest } from '../kernel/faults';
import { type Endpoint, endpointSchema } from '../model/endpoint';
import { checkTls } from './check-tls';
import { MAX_HEADERS } from './custom-headers';
import type { EndpointPatch } from './endpoint-input';
import { MAX_METADATA } from './metadata';

/**
 * Each attempt reads it whole, and a page of a list 200 of them. Every member has bounds of its own; nobody fills them all.
 */
const MAX_RECORD_BYTES = 64 * 1024;

/**
 * What an endpoint becomes by what a client says of it, be it a new one or a patch.
 *
 * @throws AppError `invalid_request` when it has too much of something, or in all, or TLS material that doesn't go together.
 */
export function mergeEndpoint(base: Partial<Endpoint>, patch: EndpointPatch, now: number): Endpoint {
  const endpoint = requireBounds(endpointSchema.parse(mergePatch(base, patch)));
  requireBytes(endpoint, bytesOf(base));
  const { tls, ...merged } = endpoint;
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

// One that has more since before there was a bound can be changed as long as it does not grow.
function requireBytes(endpoint: Endpoint, bytesBefore: number): void {
  const bytes = bytesOf(endpoint);
  if (bytes <= Math.max(MAX_RECORD_BYTES, bytesBefore)) return;
  const detail = `must have at most ${MAX_RECORD_BYTES} bytes in all, as JSON; this has ${bytes}`;
  throw invalidRequest([{ pointer: '', detail }]);
}

function bytesOf(endpoint: Partial<Endpoint>): number {
  return Buffer.byteLength(JSON.stringify(endpoint));
}

/**
 * What `target` becomes by a merge patch (RFC 7396): objects are merged member by member, at every depth; `null`
 * removes; everything else, lists too, replaces. A member that is `undefined` was not said.
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const before = isObject(target) ? target : {};
  const merged = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else if (value !== undefined) merged.set(name, mergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
