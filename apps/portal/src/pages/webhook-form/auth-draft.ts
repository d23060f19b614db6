import type { AuthMember } from '@hookferry/core/domain/receiver-auth/kind';
import {
  type AuthType,
  authCredentialsOf,
  authKindOf,
  authMembersOf,
  authTypes,
} from '@hookferry/core/domain/receiver-auth/kinds';
import { t } from '@lingui/core/macro';
import type { ValidationError } from '../../api/problem';
import type { NewWebhook, Webhook } from '../../api/webhook-queries';
import { authWordsOf } from './auth-words';

type Auth = NonNullable<Webhook['auth']>;
type NewAuth = NonNullable<NewWebhook['auth']>;

/** A webhook's `auth` as a form has it. */
export interface AuthDraft {
  readonly type: '' | AuthType;
  /** The name of the chosen credential. Some kinds have none. */
  readonly credential: string;
  /** By the names of the members. Of a secret that is empty, the one that is there stays. */
  readonly members: Readonly<Record<string, string>>;
}

export const NO_AUTH: AuthDraft = { type: '', credential: '', members: {} };

// Those that need no other server are first.
const offered = [...authTypes].sort((one, other) => Number(isFetched(one)) - Number(isFetched(other)));

function isFetched(type: AuthType): boolean {
  return authKindOf(type).header === undefined;
}

export const AUTH_CHOICES: readonly (readonly [type: AuthDraft['type'], label: string])[] = [
  ['', t`Only the signature`],
  ...offered.map((type) => [type, authWordsOf(type).choice] as const),
];

export function authDraftOf(auth: Auth | null): AuthDraft {
  if (auth === null) return NO_AUTH;
  const { type, ...shown } = auth;
  const given = Object.entries(shown).flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
  const { credential = '', ...members } = Object.fromEntries(given) as Readonly<Record<string, string>>;
  return { type, credential, members };
}

/** Another kind begins without the secrets of the one before. */
export function withType({ credential, members }: AuthDraft, type: AuthDraft['type']): AuthDraft {
  const names = credentialsOf(type);
  const isOne = names.length === 0 || names.includes(credential);
  return { type, credential: isOne ? credential : (names[0] ?? ''), members: withoutSecrets(members) };
}

function credentialsOf(type: AuthDraft['type']): readonly string[] {
  return type === '' ? [] : authCredentialsOf(type).map(([name]) => name);
}

export function withCredential(draft: AuthDraft, credential: string): AuthDraft {
  return { ...draft, credential, members: withoutSecrets(draft.members) };
}

function withoutSecrets(members: AuthDraft['members']): AuthDraft['members'] {
  const secrets = authTypes.flatMap(authMembersOf).filter(([, { isSecret }]) => isSecret);
  const names = new Set(secrets.map(([name]) => name));
  return Object.fromEntries(Object.entries(members).filter(([name]) => !names.has(name)));
}

/** The members that the form asks for, of credentials the chosen one. */
export function askedMembers({ type, credential }: AuthDraft): ReturnType<typeof authMembersOf> {
  if (type === '') return [];
  return authMembersOf(type).filter(([name, member]) => !member.isCredential || name === credential);
}

/** The `auth` of a request; an unchanged secret is left out. */
export function authOf(draft: AuthDraft): NewAuth | undefined {
  const { type, members } = draft;
  if (type === '') return undefined;
  const said = askedMembers(draft)
    .map(([name, member]) => [name, member, written(member, members[name] ?? '')] as const)
    .filter(([, { isSecret, isOptional }, text]) => text !== '' || !(isSecret || isOptional))
    .map(([name, , text]) => [name, text]);
  return { type, ...Object.fromEntries(said) } as NewAuth;
}

// White space at the ends of a text that can't begin with any is a slip of the hand.
function written(member: AuthMember, text: string): string {
  const mayBeginWithSpace =
    member.kind === 'text' ? member.form.pattern.test(' x') : member.kind === 'private_key';
  return mayBeginWithSpace ? text : text.trim();
}

/** True if the webhook has a secret, which stays if none is typed. */
export function hasSecret(draft: AuthDraft, before: AuthDraft): boolean {
  const hasOther = credentialsOf(draft.type).length > 0 && draft.credential !== before.credential;
  return draft.type === before.type && !hasOther;
}

/** Missing; what else is wrong the service says. */
export function faultsOfAuth(draft: AuthDraft, before: AuthDraft): readonly ValidationError[] {
  const keepsSecret = hasSecret(draft, before);
  return askedMembers(draft)
    .filter(([, { isOptional, isSecret }]) => !(isOptional || (isSecret && keepsSecret)))
    .filter(([name]) => (draft.members[name] ?? '').trim() === '')
    .map(([name]) => ({ pointer: `/auth/${name}`, detail: t`is required` }));
}
