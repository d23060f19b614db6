import {
  changesBetween,
  type Field,
  type Fields,
  hidden,
  plain,
  plainUrl,
  snakeCase,
} from '../audit/field-changes';
import type { FieldChange } from '../domain/audit';
import type { Endpoint } from '../domain/endpoint';
import { camelCase, settingNames } from '../domain/endpoint-settings';
import type { ReceiverAuth } from '../domain/receiver-auth';
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

const OPEN_IN_AUTH: ReadonlySet<string> = new Set(['type', 'clientId', 'scope', 'audience', 'username']);

function fieldsOfAuth(shownName: string, { changedAt: _internal, ...auth }: ReceiverAuth): [string, Field][] {
  return Object.entries(auth).map(([member, value]) => {
    const name = `${shownName}.${snakeCase(member)}`;
    if (member === 'tokenUrl') return [name, plainUrl(String(value))];
    return [name, OPEN_IN_AUTH.has(member) ? plain(value) : hidden(value)];
  });
}

/** What clients see of it, without when. */
function shownVerification({ status, method, error }: Verification) {
  return { status, method, ...(error === undefined ? {} : { error }) };
}
