/** Where an API is, and the key to it. */
export interface Profile {
  readonly url: string;
  readonly key: string;
}

export interface Profiles {
  /** The profile that is used when none is named. */
  readonly current: string;
  readonly byName: Readonly<Record<string, Profile>>;
}

const DEFAULT_PROFILE = 'default';

export const NO_PROFILES: Profiles = { current: DEFAULT_PROFILE, byName: {} };

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

export function isProfileName(name: string): boolean {
  return NAME.test(name) && name !== '__proto__';
}

/** Whether it can be a key: one word, good for a header. */
export function isKey(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

export function withProfile({ byName }: Profiles, name: string, profile: Profile): Profiles {
  return { current: name, byName: { ...byName, [name]: profile } };
}

/** Another one becomes the current one, if there is one. */
export function withoutProfile({ current, byName }: Profiles, name: string): Profiles {
  const { [name]: _gone, ...rest } = byName;
  return { current: name === current ? (Object.keys(rest)[0] ?? DEFAULT_PROFILE) : current, byName: rest };
}

/** @returns what the file's text says, or `undefined` if it is not one of ours. */
export function parseProfiles(text: string): Profiles | undefined {
  const parsed = parseJson(text);
  if (!isRecord(parsed) || typeof parsed.current !== 'string' || !isRecord(parsed.profiles)) return undefined;
  const entries = Object.entries(parsed.profiles).filter((entry): entry is [string, Profile] =>
    isProfile(entry[1]),
  );
  if (entries.length < Object.keys(parsed.profiles).length) return undefined;
  return { current: parsed.current, byName: Object.fromEntries(entries) };
}

export function formatProfiles({ current, byName }: Profiles): string {
  return `${JSON.stringify({ current, profiles: byName }, null, 2)}\n`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isProfile(value: unknown): value is Profile {
  return (
    isRecord(value) && typeof value.url === 'string' && typeof value.key === 'string' && isKey(value.key)
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
