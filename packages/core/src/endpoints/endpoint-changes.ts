import {
  changesBetween,
  type Field,
  type Fields,
  hidden,
  plain,
  plainUrl,
  snakeCase,
} from '../accounts/audit/field-changes';
import type { FieldChange } from '../domain/audit';
import type { Endpoint } from '../domain/endpoint';
import { camelCase, settingNames } from '../domain/endpoint-settings';
import type { ReceiverAuth } from '../domain/receiver-auth';
import type { AuthMember } from '../domain/receiver-auth/kind';
import { authMembersOf } from '../domain/receiver-auth/kinds';
import type { Verification } from '../domain/verification';

/** The changed fields of an endpoint, for the audit log. Values of fields that are not known to be open are left out. */
export function changedFields(before: Endpoint, after: Endpoint): readonly FieldChange[] {
  return changesBetween(fieldsOf(before), fieldsOf(after));
}

/** Those that a new endpoint has. */
export function createdFields(endpoint: Endpoint): readonly FieldChange[] {
  return changesBetween({}, fieldsOf(endpoint));
}

const OPEN: ReadonlySet<string> = new Set([
  'events',
  'filter',
  'status',
  'disabledReason',
  'transformation',
  ...settingNames.map(camelCase),
]);

// Of these the record names each member: the values may be credentials of the receiver, or the client's own notes.
const BY_MEMBER: ReadonlySet<string> = new Set(['headers', 'metadata', 'tls']);

// What the service keeps for itself.
const INTERNAL: ReadonlySet<string> = new Set([
  'id',
  'accountId',
  'enabledAt',
  'heldDiscard',
  'listener',
  'createdAt',
  'updatedAt',
]);

function fieldsOf(endpoint: Endpoint): Fields {
  const entries = Object.entries(endpoint).filter(
    ([name, value]) => !INTERNAL.has(name) && value !== undefined,
  );
  return Object.fromEntries(entries.flatMap(([name, value]) => fieldsOfMember(name, value)));
}

function fieldsOfMember(name: string, value: unknown): (readonly [string, Field])[] {
  const shownName = snakeCase(name);
  if (name === 'verification') return [[shownName, plain(shownVerification(value as Verification))]];
  if (name === 'url') return [[shownName, plainUrl(String(value))]];
  if (OPEN.has(name)) return [[shownName, plain(value)]];
  if (name === 'auth') return fieldsOfAuth(shownName, value as ReceiverAuth);
  if (!BY_MEMBER.has(name)) return [[shownName, hidden(value)]];
  return Object.entries(value as object).map(([member, each]) => [`${shownName}.${member}`, hidden(each)]);
}

function fieldsOfAuth(shownName: string, auth: ReceiverAuth): [string, Field][] {
  const members = new Map(authMembersOf(auth.type));
  return Object.entries(auth)
    .filter(([name]) => name !== 'changedAt')
    .map(([name, value]) => [snakeCase(name), value] as const)
    .map(([name, value]) => [`${shownName}.${name}`, fieldOfAuth(name, members.get(name), value)]);
}

function fieldOfAuth(name: string, member: AuthMember | undefined, value: unknown): Field {
  if (name === 'type') return plain(value);
  if (member === undefined || member.isSecret) return hidden(value);
  return member.kind === 'url' ? plainUrl(String(value)) : plain(value);
}

/** What clients see of it, without when. */
function shownVerification({ status, method, error }: Verification) {
  return { status, method, ...(error === undefined ? {} : { error }) };
}
