import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the profiles are: a file of the user's own. */
export function configPath(
  environment: Environment,
  platform: NodeJS.Platform = process.platform,
  home: string = homedir(),
): string {
  return join(configHome(environment, platform, home), 'hookferry', 'config.json');
}

function configHome({ APPDATA, XDG_CONFIG_HOME }: Environment, platform: NodeJS.Platform, home: string) {
  if (platform === 'win32') return APPDATA ?? join(home, 'AppData', 'Roaming');
  // The XDG specification: a path that is not absolute is to be ignored.
  if (XDG_CONFIG_HOME !== undefined && isAbsolute(XDG_CONFIG_HOME)) return XDG_CONFIG_HOME;
  return join(home, '.config');
}
