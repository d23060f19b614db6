import { checkEndpointDraft } from '@hookferry/core/endpoints/endpoint-options';
import { t } from '@lingui/core/macro';
import type { ValidationError } from '../../api/problem';
import { inViewersWords } from '../../api/refusal-words';
import { type AuthDraft, faultsOfAuth } from './auth-draft';
import { bodyOf, type Draft, MASK } from './draft';

/**
 * The faults of a draft, by the rules of the service.
 *
 * @param keptFor the only URL that values may stay with which are masked; left out: they may go anywhere.
 * @param authBefore how the webhook authenticates so far: its secret stays where none is typed.
 */
export function faultsOfDraft(
  draft: Draft,
  keptFor?: string,
  authBefore: AuthDraft = draft.auth,
): readonly ValidationError[] {
  return [
    ...faultsOfMembers(draft),
    ...faultsOfAuth(draft.auth, authBefore),
    ...faultsOfMoving(draft, keptFor),
  ];
}

const GIVE_AGAIN = t`must be given again or removed: the URL changes, and your link may not see its value`;

/** The service refuses to take secrets along to another URL for who may not see them. */
function faultsOfMoving({ url, headers }: Draft, keptFor = url): readonly ValidationError[] {
  if (sameUrl(url, keptFor)) return [];
  const kept = headers.filter(({ name, value }) => value === MASK && name.trim() !== '');
  return kept.map(({ name }) => ({ pointer: `/headers/${name.trim()}`, detail: GIVE_AGAIN }));
}

function sameUrl(one: string, other: string): boolean {
  return URL.canParse(one) && URL.canParse(other) && new URL(one).href === new URL(other).href;
}

function faultsOfMembers(draft: Draft): readonly ValidationError[] {
  // A value that is masked is one that stays as it is.
  const headers = draft.headers.filter(({ value }) => value !== MASK);
  const { auth: _auth, ...body } = bodyOf({ ...draft, headers });
  const own: readonly ValidationError[] = [
    ...(isWebUrl(draft.url) ? [] : [{ pointer: '/url', detail: NO_WEB_URL }]),
    ...(isJson(draft.filter) ? [] : [{ pointer: '/filter', detail: t`must be JSON` }]),
  ];
  const ofService = checkEndpointDraft(body);
  const others = ofService.filter((one) => !own.some(({ pointer }) => pointer === one.pointer));
  return [...others.map(inViewersWords), ...own];
}

const NO_WEB_URL = t`must be a URL that begins with https://, such as https://example.com/webhooks`;

/** The slip that people make most is told in their language: the service's words are English. */
function isWebUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function isJson(text: string): boolean {
  if (text.trim() === '') return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
