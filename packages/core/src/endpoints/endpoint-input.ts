import { jsonPointer } from '@hookferry/producer/fault-words';
import { z } from 'zod';
import { type Endpoint, endpointSchema, endpointStatusSchema } from '../domain/endpoint';
import { type CamelCase, camelCase } from '../domain/endpoint-settings';
import { longestOf } from '../domain/retry-schedule';
import { patchedSettings, sentSettings } from '../domain/setting-schemas';
import { type TargetUrlRules, targetUrlSchema } from '../domain/target-url';
import { verificationMethodSchema } from '../domain/verification';
import { AppError, invalidRequest, type ValidationError } from '../platform/app-error';
import { formatDuration } from '../platform/duration';
import { foundElsewhere } from '../platform/zod-words';
import {
  customHeadersPatchSchema,
  customHeadersSchema,
  eventsSchema,
  MAX_HEADERS,
  MAX_METADATA,
  metadataPatchSchema,
  metadataSchema,
} from './endpoint-options';
import { payloadFilterSchema } from './filters/payload-filter';
import {
  authPatchSchema,
  mergeAuth,
  movedAuthSecrets,
  newAuthSchema,
  requireOneAuthorization,
  type Sent,
} from './receiver-auth';
import { newSecretSchema } from './rotate-secret';
import { checkTls, newTlsSchema, tlsPatchSchema } from './tls/certificate';

// One value, which a patch replaces as a whole: of a merged one nobody knows what it says, and `null` is a value in it.
const filterSchema = payloadFilterSchema.transform((filter) => JSON.stringify(filter));

const newVerificationSchema = verificationMethodSchema.describe(
  'How the receiver must prove that it wants the requests. Default: the service or the account decides whether a proof is required.',
);

/** What members of webhooks mean, in requests as in responses. */
export const ENDPOINT_MEMBERS = {
  url: 'The address that deliveries are sent to. At most 2,048 characters.',
  events:
    'The event types that it gets: 1 to 100 names, prefixes such as `order.*`, or `*` for all but operational ones.',
  filter: 'Only events whose `data` matches this filter are sent. Default: all events of its types.',
  metadata:
    'Texts of your own, by name. At most 50 members, with names of up to 64 and values of up to 500 characters.',
} as const;

const HEADERS =
  'Headers that each request to it carries. At most 20, with values of up to 1,000 visible ASCII characters. Responses mask the values.';
const AUTH =
  'What its requests carry in `Authorization`, in addition to their signatures. Responses show none of its secrets.';
const TLS =
  "Certificates: the authorities that must have signed the receiver's certificate, and the one that the service shows. Default: the public authorities, and none to show.";

/** What the settings of the service allow. */
export interface EndpointRules extends TargetUrlRules {
  /** RETENTION: for how long a delivery may be open. Milliseconds. */
  readonly retentionMs: number;
}

function scheduleSchema(rules: EndpointRules) {
  return sentSettings.retry_schedule.superRefine((schedule, context) => {
    // One that has another fault has no length, and is refused for that.
    if (!(longestOf(schedule) >= rules.retentionMs)) return;
    const message = `must end within ${formatDuration(rules.retentionMs)} (RETENTION): the delays of retry_schedule and their jitter, all together`;
    context.addIssue({ code: 'custom', message });
  });
}

/** What a client may say when it registers an endpoint. */
export function newEndpointSchema(rules: EndpointRules) {
  return z
    .strictObject({
      url: targetUrlSchema(rules).describe(ENDPOINT_MEMBERS.url),
      events: eventsSchema.describe(ENDPOINT_MEMBERS.events),
      filter: filterSchema.optional().describe(ENDPOINT_MEMBERS.filter),
      secret: newSecretSchema.optional(),
      // Later it is changed by enabling and disabling.
      status: endpointStatusSchema
        .optional()
        .describe('`disabled`: its deliveries are held until it is enabled. Default: `enabled`.'),
      tls: newTlsSchema.optional().describe(TLS),
      ...z.object({ ...sentSettings, retry_schedule: scheduleSchema(rules) }).partial().shape,
      metadata: metadataSchema.optional().describe(ENDPOINT_MEMBERS.metadata),
      headers: customHeadersSchema.optional().describe(HEADERS),
      auth: newAuthSchema(rules).optional().describe(AUTH),
      verification: newVerificationSchema.optional(),
    })
    .transform(renameMembers)
    .meta({ id: 'NewWebhook' });
}
export type NewEndpoint = z.output<ReturnType<typeof newEndpointSchema>>;

/** What a client may change (a merge patch, RFC 7396: `null` removes). */
export function endpointPatchSchema(rules: EndpointRules) {
  return z
    .strictObject({
      url: targetUrlSchema(rules).optional().describe(ENDPOINT_MEMBERS.url),
      events: eventsSchema.optional().describe(ENDPOINT_MEMBERS.events),
      filter: filterSchema.nullish().describe(removable(ENDPOINT_MEMBERS.filter)),
      ...nullish({ ...patchedSettings, retry_schedule: scheduleSchema(rules) }),
      tls: tlsPatchSchema.nullish().describe(removable(TLS)),
      metadata: metadataPatchSchema.nullish().describe(removable(ENDPOINT_MEMBERS.metadata)),
      headers: customHeadersPatchSchema.nullish().describe(removable(HEADERS)),
      auth: authPatchSchema(rules).nullish().describe(removable(AUTH)),
      // It can start again, but nobody can remove it.
      verification: newVerificationSchema.optional(),
    })
    .register(foundElsewhere, {
      status: 'is changed by POST /v1/webhooks/{id}/disable and POST /v1/webhooks/{id}/enable',
      secret: 'is changed by POST /v1/webhooks/{id}/rotate-secret',
    })
    .transform(renameMembers)
    .meta({ id: 'WebhookPatch' });
}
export type EndpointPatch = z.output<ReturnType<typeof endpointPatchSchema>>;

/** What a client may say of a listener: of an endpoint's members those that mean something without a URL. */
export const listenerMembers = {
  events: eventsSchema.default(['*']).describe(`${ENDPOINT_MEMBERS.events} Default: \`*\`.`),
  secret: newSecretSchema.optional(),
  ...z
    .object(sentSettings)
    .pick({
      description: true,
      ordering: true,
      timeout_ms: true,
      retry_schedule: true,
      format: true,
      cloudevents: true,
      batch: true,
      coalesce: true,
    })
    .partial().shape,
};

type Nullish<Shape extends Readonly<Record<string, z.ZodType>>> = {
  readonly [Name in keyof Shape]: z.ZodOptional<z.ZodNullable<Shape[Name]>>;
};

function nullish<Shape extends Readonly<Record<string, z.ZodType>>>(shape: Shape): Nullish<Shape> {
  const entries = Object.entries(shape).map(([name, schema]) => [
    name,
    schema.nullish().describe(removable(schema.description ?? '')),
  ]);
  return Object.fromEntries(entries) as Nullish<Shape>;
}

function removable(description: string): string {
  return `${description} \`null\` removes it.`;
}

/** JSON's names end here. */
export function renameMembers<Input extends object>(input: Input) {
  const renamed = Object.entries(input).map(([name, value]) => [camelCase(name), value]);
  return Object.fromEntries(renamed) as { [Name in keyof Input as CamelCase<Name>]: Input[Name] };
}

/**
 * Each attempt reads it whole, and a page of a list 200 of them. Every member has bounds of its own; nobody fills them all.
 */
const MAX_RECORD_BYTES = 64 * 1024;

/**
 * What an endpoint becomes by what a client says of it, be it a new one or a patch.
 *
 * @throws AppError `invalid_request` when it has too much of something, or in all, or TLS material that doesn't go together.
 */
export function mergeEndpoint(
  base: Partial<Endpoint>,
  patch: Omit<EndpointPatch, 'verification'>,
  now: number,
): Endpoint {
  const { auth: authPatch, ...plain } = patch;
  const { auth: formerAuth, ...before } = base;
  // An access token may be bound to the certificate that it was asked for with.
  const isOtherClient = formerAuth !== undefined && patch.tls !== undefined;
  const auth = mergeAuth(
    formerAuth,
    authPatch === undefined && isOtherClient ? {} : authPatch,
    base.updatedAt ?? now,
  );
  const settings = { ...endpointSchema.parse(mergePatch(before, plain)), ...(auth && { auth }) };
  const endpoint = requireBounds(settings);
  requireOneAuthorization(endpoint);
  requireListFormat(endpoint);
  requireGroups(endpoint, base);
  requireBytes(endpoint, bytesOf(base));
  const { tls, ...merged } = withoutEmptyGroups(endpoint);
  if (tls === undefined || Object.keys(tls).length === 0) return merged;
  // Only what is changed: a certificate that expires later must not stand in the way of other changes.
  if (patch.tls) checkTls(tls, now);
  return { ...merged, tls };
}

// A patch that removes its last member removes it.
function withoutEmptyGroups({ cloudevents, batch, coalesce, ...endpoint }: Endpoint): Endpoint {
  return {
    ...endpoint,
    ...(isEmpty(cloudevents) ? {} : { cloudevents }),
    ...(isEmpty(batch) ? {} : { batch }),
    ...(isEmpty(coalesce) ? {} : { coalesce }),
  };
}

function isEmpty(group: object | undefined): boolean {
  return group === undefined || Object.keys(group).length === 0;
}

function requireListFormat({ batch, format }: Endpoint): void {
  if (isEmpty(batch) || format === 'native' || format === 'cloudevents_batch') return;
  const detail =
    'must be native or cloudevents_batch if batch is given: no other format carries several events';
  throw invalidRequest([{ pointer: '/format', detail }]);
}

function requireGroups({ ordering, coalesce, batch, format }: Endpoint, before: Partial<Endpoint>): void {
  if (isEmpty(coalesce)) return;
  if (ordering !== 'group') {
    throw invalidRequest([{ pointer: '/coalesce', detail: 'needs "ordering": "group"' }]);
  }
  if (!isEmpty(batch)) {
    const detail = 'must not be given together with batch: of a group, only the newest event is sent';
    throw invalidRequest([{ pointer: '/coalesce', detail }]);
  }
  // One that has both since before they were refused can be changed.
  const hadBoth = before.format === 'cloudevents_batch' && !isEmpty(before.coalesce);
  if (format !== 'cloudevents_batch' || hadBoth) return;
  const detail =
    'must not be given together with the format cloudevents_batch: take cloudevents_structured or cloudevents_binary, as the newest event of a group is sent alone';
  throw invalidRequest([{ pointer: '/coalesce', detail }]);
}

// What a patch adds to can only be counted once it is merged.
function requireBounds(endpoint: Endpoint): Endpoint {
  const bounds = { metadata: MAX_METADATA, headers: MAX_HEADERS };
  const validationErrors = Object.entries(bounds)
    .filter(([member, most]) => Object.keys(endpoint[member as keyof typeof bounds] ?? {}).length > most)
    .map(([member, most]) => ({ pointer: `/${member}`, detail: `must have at most ${most} members` }));
  if (validationErrors.length > 0) throw invalidRequest(validationErrors);
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

/** What is said of a secret that a change would also send elsewhere. */
export const GIVE_AGAIN =
  'must be given again or removed: this change sends requests elsewhere (url, tls.ca, auth.token_url), and a portal session without the capability "secrets" must not take stored secrets there';

/**
 * The secrets of an endpoint that a change would take to another place than they were given for: values of its headers,
 * which are sent as they are, the key that proves who calls, and those of `auth`. Another place is any other URL, as one host may serve
 * many customers by path, and any other authority, as one that the client chose can vouch for whoever is in between.
 */
export function movedSecrets(before: Sent, after: Sent, patch: EndpointPatch): ValidationError[] {
  const pointers = movedAuthSecrets(before, after, patch.auth);
  if (before.url !== after.url || before.tls?.ca !== after.tls?.ca)
    pointers.unshift(...keptSecrets(before, patch));
  return pointers.map((pointer) => ({ pointer, detail: GIVE_AGAIN }));
}

function keptSecrets(before: Sent, patch: EndpointPatch): string[] {
  const headers = Object.keys(before.headers ?? {}).filter((name) => isKept(patch.headers, name));
  const pointers = headers.map((name) => jsonPointer(['headers', name]));
  if (before.tls?.key !== undefined && isKept(patch.tls, 'key')) pointers.push('/tls/client_key');
  return pointers;
}

/** Whether a merge patch says nothing of a member. */
function isKept(patch: object | null | undefined, name: string): boolean {
  if (patch === null) return false;
  return new Map(Object.entries(patch ?? {})).get(name) === undefined;
}

/** What tells one state of an endpoint's settings from every other. */
export function versionOf({ updatedAt }: Endpoint): string {
  return updatedAt.toString(36);
}

/** @throws AppError `precondition_failed` when the endpoint is not as whoever changes it has last seen it. */
export function requireVersion(endpoint: Endpoint, versions: readonly string[] | undefined): Endpoint {
  if (versions === undefined || versions.includes(versionOf(endpoint))) return endpoint;
  throw new AppError(
    'precondition_failed',
    'The webhook was changed since you read it. Read it again, and repeat your change with its new ETag.',
  );
}
