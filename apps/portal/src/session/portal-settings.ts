const ADDRESS = '/portal/settings.json';

/** What the service says of its portal before anybody has signed in. */
export interface PortalSettings {
  /** Origins whose pages may show this one in a frame. */
  readonly frameAncestors: readonly string[];
  /** The operator's page that signs people in, with `{path}` in it. */
  readonly entryUrl?: string | undefined;
  readonly operatorName?: string | undefined;
  /** Whether a session outlives a page that is loaded again. */
  readonly keepsSessions: boolean;
}

export const NO_SETTINGS: PortalSettings = { frameAncestors: [], keepsSessions: false };

export async function readPortalSettings(): Promise<PortalSettings> {
  const response = await fetch(ADDRESS).catch(() => undefined);
  if (!response?.ok) return NO_SETTINGS;
  const said = (await response.json()) as Readonly<Record<string, unknown>>;
  const origins = Array.isArray(said['frame_ancestors']) ? said['frame_ancestors'] : [];
  return {
    frameAncestors: origins.filter((origin) => typeof origin === 'string'),
    entryUrl: textOf(said['entry_url']),
    operatorName: textOf(said['operator_name']),
    keepsSessions: said['session_storage'] === 'tab',
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** The operator's page that leads back to this one, if there is any. */
export function entryUrl({ entryUrl: form }: PortalSettings, accountId = ''): string | undefined {
  const { pathname, search } = window.location;
  const path = pathname.replace(/^\/portal/, '') + search;
  return form
    ?.replaceAll('{path}', () => encodeURIComponent(path))
    .replaceAll('{account}', () => encodeURIComponent(accountId));
}
