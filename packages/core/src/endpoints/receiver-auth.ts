import { z } from 'zod';
import type { Endpoint } from '../domain/endpoint';
import { camelCase } from '../domain/endpoint-settings';
import { keyFactNames, type ReceiverAuth, receiverAuthSchema } from '../domain/receiver-auth';
import type { AuthMember } from '../domain/receiver-auth/kind';
import {
  type AuthType,
  authCredentialsOf,
  authKindOf,
  authMembersOf,
  authTypes,
  mayLack,
} from '../domain/receiver-auth/kinds';
import { type TargetUrlRules, targetUrlSchema } from '../domain/target-url';
import { invalidRequest, type ValidationError } from '../platform/app-error';
import { assertionKeySchema } from './assertion-key';

type Schemas = Readonly<Record<string, z.ZodType>>;

/** The `auth` of a new endpoint. */
export function newAuthSchema(rules: TargetUrlRules) {
  const [first, ...others] = authTypes.map((type) => newKindSchema(type, rules));
  return z
    .discriminatedUnion('type', [first as NonNullable<typeof first>, ...others], {
      error: ({ code }) => (code === 'invalid_union' ? `must be one of ${authTypes.join(', ')}` : undefined),
    })
    .transform(toAuthPatch);
}

function newKindSchema(type: AuthType, rules: TargetUrlRules) {
  const { name: kindName, description } = authKindOf(type);
  const members = authMembersOf(type).map(([name, member]) => [name, newMemberSchema(member, rules)]);
  return z
    .strictObject({
      type: z.literal(type).describe(description),
      ...(Object.fromEntries(members) as Schemas),
    })
    .meta({ id: `New${kindName}Auth` });
}

function newMemberSchema(member: AuthMember, rules: TargetUrlRules): z.ZodType {
  const schema = sentSchema(member, rules);
  return (mayLack(member) ? schema.optional() : schema).describe(member.description);
}

function sentSchema(member: AuthMember, rules: TargetUrlRules): z.ZodType {
  switch (member.kind) {
    case 'url':
      return targetUrlSchema(rules);
    case 'private_key':
      return assertionKeySchema;
    case 'text': {
      const { most, form, example } = member;
      const text = z.string().max(most).regex(form.pattern, form.message);
      return example === undefined ? text : text.meta({ example });
    }
  }
}

/** The `auth` of a patch. Which members go together is known once they are merged. */
export function authPatchSchema(rules: TargetUrlRules) {
  const members = authTypes.flatMap(authMembersOf).map(([name, member]) => {
    const schema = sentSchema(member, rules);
    const patched = member.isOptional ? schema.nullish() : schema.optional();
    return [name, patched.describe(member.description)];
  });
  return z
    .strictObject({
      type: z
        .enum(authTypes)
        .optional()
        .describe('The kind of authorization. Another kind than before replaces all members.'),
      ...(Object.fromEntries(members) as Schemas),
    })
    .meta({ id: 'WebhookAuthPatch' })
    .transform(toAuthPatch);
}

/** What a client says of `auth`, by the names in code: of the members texts, and of a private key all that is stored of it. */
export interface AuthPatch {
  readonly type?: AuthType | undefined;
  readonly [name: string]: unknown;
}

function toAuthPatch({ type, ...members }: AuthPatch): AuthPatch {
  const patch = Object.entries(members).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null ? Object.entries(value) : [[camelCase(name), value]],
  );
  return { type, ...(Object.fromEntries(patch) as object) };
}

/** `auth` as responses show it, without its secrets. */
export const shownAuthSchema = shownSchema();

function shownSchema() {
  const [first, ...others] = authTypes.map(shownKindSchema);
  return z
    .discriminatedUnion('type', [first as NonNullable<typeof first>, ...others])
    .meta({ id: 'WebhookAuth' });
}

function shownKindSchema(type: AuthType) {
  const { name: kindName, description, credential } = authKindOf(type);
  const credentials = authCredentialsOf(type).map(([name]) => name);
  const members = authMembersOf(type).flatMap(([name, member]): [string, z.ZodType][] => {
    if (!member.isSecret) return [[name, shownMemberSchema(member)]];
    // In the place of the first.
    if (name !== credentials[0]) return [];
    return [['credential', z.enum(credentials).describe(credential?.description ?? '')]];
  });
  return z
    .object({
      type: z.literal(type).describe(description),
      ...(Object.fromEntries(members) as Schemas),
    })
    .meta({ id: `${kindName}Auth` });
}

function shownMemberSchema(member: AuthMember): z.ZodType {
  const text = z.string();
  const shown = member.kind === 'url' ? text.meta({ format: 'uri', example: member.example }) : text;
  return (member.isOptional ? shown.nullable() : shown).describe(member.description);
}

/** Members are listed one by one, so that a secret that is added later is not shown by mistake. */
export function presentAuth(auth: ReceiverAuth): z.infer<typeof shownAuthSchema> {
  const { type } = auth;
  const stored = new Map<string, unknown>(Object.entries(auth));
  const given = ([name]: readonly [string, AuthMember]) => stored.has(camelCase(name));
  const [credential] = authCredentialsOf(type).filter(given);
  const shown = authMembersOf(type)
    .filter(([name, { isSecret }]) => !isSecret || name === credential?.[0])
    .map(([name, { isSecret }]) =>
      isSecret ? ['credential', name] : [name, stored.get(camelCase(name)) ?? null],
    );
  return { type, ...(Object.fromEntries(shown) as object) };
}

/**
 * What an endpoint's `auth` becomes by a patch. Another type replaces all of it. Of its credentials one replaces the other.
 *
 * @param changedAt of the result, if there is a change.
 * @throws AppError `invalid_request` when the members do not go together.
 */
export function mergeAuth(
  before: ReceiverAuth | undefined,
  patch: AuthPatch | null | undefined,
  changedAt: number,
): ReceiverAuth | undefined {
  if (patch === undefined) return before;
  if (patch === null) return undefined;
  const { type = before?.type } = patch;
  if (type === undefined) throw invalidRequest([{ pointer: '/auth/type', detail: 'is required' }]);
  const kept = before && type === before.type ? withoutReplaced(before, patch) : {};
  const said = Object.entries(patch).filter(([, value]) => value !== undefined);
  const merged = new Map<string, unknown>([
    ...Object.entries(kept),
    ...said,
    ['type', type],
    ['changedAt', changedAt],
  ]);
  for (const [name, value] of merged) if (value === null) merged.delete(name);
  requireMembers(type, merged);
  return receiverAuthSchema.parse(Object.fromEntries(merged));
}

function withoutReplaced(before: ReceiverAuth, patch: AuthPatch): object {
  const credentials = authCredentialsOf(before.type).flatMap(storedNames);
  if (credentials.every((name) => patch[name] === undefined)) return before;
  return Object.fromEntries(Object.entries(before).filter(([name]) => !credentials.includes(name)));
}

/** The names in code of what a record has of a member. */
function storedNames([name, { kind }]: readonly [string, AuthMember]): string[] {
  return kind === 'private_key' ? [camelCase(name), ...keyFactNames] : [camelCase(name)];
}

/** The members of all types, by what records have of them. */
const WIRE_NAMES: ReadonlyMap<string, string> = new Map(
  authTypes
    .flatMap(authMembersOf)
    .flatMap((member) => storedNames(member).map((name) => [name, member[0]] as const)),
);

function requireMembers(type: AuthType, merged: ReadonlyMap<string, unknown>): void {
  const members = authMembersOf(type);
  const known = new Set(['type', 'changedAt', ...members.flatMap(storedNames)]);
  const unknown = [...merged.keys()].filter((name) => !known.has(name));
  const faults: ValidationError[] = [
    ...members
      .filter(([name, member]) => !mayLack(member) && !merged.has(camelCase(name)))
      .map(([name]) => ({ pointer: `/auth/${name}`, detail: 'is required' })),
    ...[...new Set(unknown.map((name) => WIRE_NAMES.get(name) ?? name))].map((name) => ({
      pointer: `/auth/${name}`,
      detail: `is not a member of the type ${type}`,
    })),
    ...faultOfCredentials(type, merged),
  ];
  if (faults.length > 0) throw invalidRequest(faults);
}

/** Of a kind that has credentials, there must be exactly one. */
function faultOfCredentials(type: AuthType, merged: ReadonlyMap<string, unknown>): ValidationError[] {
  const names = authCredentialsOf(type).map(([name]) => name);
  const [first, ...others] = names;
  if (first === undefined) return [];
  const [one, two] = names.filter((name) => merged.has(camelCase(name)));
  if (one === undefined)
    return [{ pointer: `/auth/${first}`, detail: `is required, unless ${others.join(' or ')} is given` }];
  if (two === undefined) return [];
  return [{ pointer: `/auth/${two}`, detail: `must not be given together with ${one}` }];
}

/** Both would say what is in the same header. */
export function requireOneAuthorization({ auth, headers }: Endpoint): void {
  if (auth === undefined || headers?.authorization === undefined) return;
  const detail = 'must be removed if auth is given, which sets this header';
  throw invalidRequest([{ pointer: '/headers/authorization', detail }]);
}

/** What an endpoint's requests take with them, and to where. */
export type Sent = Pick<Endpoint, 'url' | 'headers' | 'auth' | 'tls'>;

/**
 * Pointers to the secrets of `auth` that a change would take to another place than they were given for: another
 * origin (scheme, host or port) of the endpoint or of its token URL, or whoever another authority vouches for.
 */
export function movedAuthSecrets(before: Sent, after: Sent, patch: AuthPatch | null | undefined): string[] {
  // Another type brings secrets of its own.
  if (!after.auth || before.auth?.type !== after.auth.type || !isMoved(before, after)) return [];
  const kept = new Map(Object.entries(after.auth));
  return authMembersOf(after.auth.type)
    .filter(([name, { isSecret }]) => isSecret && kept.has(camelCase(name)))
    .filter(([name]) => patch?.[camelCase(name)] === undefined)
    .map(([name]) => `/auth/${name}`);
}

function isMoved(before: Sent, after: Sent): boolean {
  if (before.tls?.ca !== after.tls?.ca) return true;
  return originsOf(before) !== originsOf(after);
}

function originsOf({ url, auth }: Sent): string {
  const members = new Map<string, unknown>(Object.entries(auth ?? {}));
  const urls = (auth ? authMembersOf(auth.type) : [])
    .filter(([, { kind }]) => kind === 'url')
    .map(([name]) => String(members.get(camelCase(name))));
  return [url, ...urls].map((each) => new URL(each).origin).join(' ');
}
