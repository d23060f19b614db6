// Reserved for private use (RFC 6761, 6762, 8375, ICANN's .internal) or never delegated because of it, and what
// containers and their orchestrators call each other by.
const INTERNAL_ENDINGS = [
  '.localhost',
  '.local',
  '.localdomain',
  '.internal',
  '.intranet',
  '.private',
  '.lan',
  '.home',
  '.corp',
  '.home.arpa',
  '.svc',
];

/** Whether a name can have no meaning in the public DNS: one label only, or a reserved ending. */
export function isInternalName(name: string): boolean {
  const bare = name.toLowerCase().replace(/\.$/, '');
  return !bare.includes('.') || INTERNAL_ENDINGS.some((ending) => bare.endsWith(ending));
}
