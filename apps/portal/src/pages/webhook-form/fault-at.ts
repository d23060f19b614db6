import type { ValidationError } from '../../api/problem';

/** The faults of a member, and of its own members, in one sentence. */
export function faultAt(validationErrors: readonly ValidationError[], member: string): string | undefined {
  const own = validationErrors.filter(
    ({ pointer }) => pointer === member || pointer.startsWith(`${member}/`),
  );
  if (own.length === 0) return undefined;
  return own.map(({ pointer, detail }) => `${pointer.slice(member.length + 1)} ${detail}`.trim()).join('; ');
}
