import { checkEndpointDraft } from '@hookferry/core/endpoints/check-endpoint-draft';
import type { Fault } from '../../api/problem';
import { bodyOf, type Draft, MASK } from './draft';

/** What is wrong with a draft, by the rules of the service. */
export function faultsOfDraft(draft: Draft): readonly Fault[] {
  // A value that is masked is one that stays as it is.
  const headers = draft.headers.filter(({ value }) => value !== MASK);
  const faults = checkEndpointDraft(bodyOf({ ...draft, headers }));
  if (isJson(draft.filter)) return faults;
  return [
    ...faults.filter(({ pointer }) => pointer !== '/filter'),
    { pointer: '/filter', detail: 'must be JSON' },
  ];
}

/** What is wrong with a member, inside it too, in one sentence. */
export function faultAt(faults: readonly Fault[], member: string): string | undefined {
  const own = faults.filter(({ pointer }) => pointer === member || pointer.startsWith(`${member}/`));
  if (own.length === 0) return undefined;
  return own.map(({ pointer, detail }) => `${pointer.slice(member.length + 1)} ${detail}`.trim()).join('; ');
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
