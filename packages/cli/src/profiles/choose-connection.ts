import { UsageError } from '../failures/usage-error';
import { parseUrl } from './parse-url';
import { isKey, type Profile, type Profiles } from './profiles';

export interface ConnectionSources {
  /** Of `--profile`. */
  readonly flag: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly profiles: Profiles;
}

/**
 * Where to connect to, and with which key: `HOOKFERRY_URL` and `HOOKFERRY_API_KEY`, else the profile.
 * @throws UsageError if there is none.
 */
export function chooseConnection(sources: ConnectionSources): Profile {
  const { HOOKFERRY_URL: url = '', HOOKFERRY_API_KEY: key = '' } = sources.environment;
  if (key !== '' && !isKey(key)) {
    throw new UsageError(
      'HOOKFERRY_API_KEY is not a key.',
      'It must be one word, without spaces or line breaks.',
    );
  }
  if (url !== '' && key !== '') return { url: parseUrl(url), key };
  // A profile's key is for the profile's URL: sent to another one, it would be given away.
  if (url !== '') {
    throw new UsageError(
      'HOOKFERRY_URL is set, but HOOKFERRY_API_KEY is not.',
      'Set both, or unset HOOKFERRY_URL to use a profile.',
    );
  }
  const profile = chooseProfile(sources);
  return key === '' ? profile : { url: profile.url, key };
}

/** The name of the profile that is meant: `--profile`, `HOOKFERRY_PROFILE`, else the current one. */
export function chosenName({ flag, environment, profiles }: ConnectionSources): string {
  return flag ?? (environment.HOOKFERRY_PROFILE || profiles.current);
}

function chooseProfile(sources: ConnectionSources): Profile {
  const name = chosenName(sources);
  const profile = Object.hasOwn(sources.profiles.byName, name) ? sources.profiles.byName[name] : undefined;
  if (profile !== undefined) return profile;
  const names = Object.keys(sources.profiles.byName);
  if (names.length === 0) {
    throw new UsageError(
      'You are not logged in.',
      'Run: hookferry login --url URL, or set HOOKFERRY_URL and HOOKFERRY_API_KEY.',
    );
  }
  throw new UsageError(
    `There is no profile "${name}", only: ${names.join(', ')}.`,
    'Choose one with --profile, or make it: hookferry login --profile NAME --url URL',
  );
}
