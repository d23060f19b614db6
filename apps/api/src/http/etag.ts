/** An entity tag (RFC 9110) of a version. */
export function etagOf(version: string): string {
  return `"${version}"`;
}

/** The versions that an `If-Match` header asks for; `undefined`: any will do. */
export function versionsOf(ifMatch: string | undefined): readonly string[] | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined;
  return [...ifMatch.matchAll(/"([^"]*)"/g)].map(([, version = '']) => version);
}
