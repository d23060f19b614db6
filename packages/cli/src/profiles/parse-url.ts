import { UsageError } from '../failures/usage-error';

/** The address of an API, without a slash at its end. @throws UsageError. */
export function parseUrl(given: string): string {
  const advice = 'Give the address of the API, such as https://webhooks.example.com';
  if (!URL.canParse(given)) throw new UsageError(`"${given}" is not a URL.`, advice);
  const url = new URL(given);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new UsageError(`"${given}" must begin with https: or http:.`, advice);
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError('The URL must not contain a user name or a password.', advice);
  }
  if (url.search !== '' || url.hash !== '') {
    throw new UsageError('The URL must not contain a query or a fragment.', advice);
  }
  return url.href.replace(/\/+$/, '');
}

/** Whether a key sent there can be read on its way: not encrypted, and not on this machine. */
export function isOpenToOthers(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}
