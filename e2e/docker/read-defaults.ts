/** As little as a process runs with. */
export const BARE: Record<string, string | undefined> = { INSECURE_UNENCRYPTED_SECRETS: 'true' };

/** What a process runs with when nothing is set, and the names that it looks for. */
export function readDefaults<Config>(read: (environment: Record<string, string | undefined>) => Config) {
  const settings = new Set<string>();
  const config = read(
    new Proxy<Record<string, string | undefined>>(
      {},
      {
        get(_target, name) {
          settings.add(String(name));
          return BARE[String(name)];
        },
      },
    ),
  );
  return { config, settings };
}
