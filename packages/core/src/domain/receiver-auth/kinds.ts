import { basic } from './basic';
import { bearer } from './bearer';
import type { AuthKind, AuthMember } from './kind';
import { oauth2 } from './oauth2';

/** What requests to a receiver may carry in `Authorization`, by the `type` of a webhook's `auth`. */
export const authKinds = { oauth2, basic, bearer } as const;
export type AuthKinds = typeof authKinds;
export type AuthType = keyof AuthKinds;

export const authTypes = Object.keys(authKinds) as readonly AuthType[];

export function authKindOf(type: AuthType): AuthKind {
  return authKinds[type];
}

/** Its members, by their names on the wire. */
export function authMembersOf(type: AuthType): readonly (readonly [name: string, member: AuthMember])[] {
  return Object.entries(authKindOf(type).members);
}

/** Whether a webhook of its kind may be without it. */
export function mayLack({ isOptional, isCredential }: AuthMember): boolean {
  return isOptional === true || isCredential === true;
}

/** Those of which a webhook has exactly one; none if its kind has no such members. */
export function authCredentialsOf(type: AuthType): readonly (readonly [name: string, member: AuthMember])[] {
  return authMembersOf(type).filter(([, { isCredential }]) => isCredential);
}
