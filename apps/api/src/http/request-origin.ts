import { isIPv6 } from 'node:net';
import { AppError } from '@hookferry/core/kernel/app-error';

/** Of a request, as Express tells them: HTTP/1.0 has no host. */
interface Named {
  readonly protocol: string;
  readonly host: string | undefined;
}

const HOST =
  /^(?:(?<name>[A-Za-z0-9_](?:[A-Za-z0-9._-]*))|\[(?<address>[0-9A-Fa-f:.]+)\])(?::(?<port>\d{1,5}))?$/;
const MAX_HOST_LENGTH = 260;
const MAX_PORT = 65_535;

/**
 * What a request was sent to, such as `https://hooks.example.com`, as far as it says so itself, or a proxy that is believed
 * does. Anybody can name any host, so what a link begins with is one at least, and nothing that could be read as more.
 *
 * @throws AppError `malformed_request` when it names none, or what is no host of a URL.
 */
export function originOf({ protocol, host = '' }: Named): string {
  if (isHost(host)) return `${protocol}://${host.toLowerCase()}`;
  throw new AppError(
    'malformed_request',
    'The header "Host", or "X-Forwarded-Host", is not a host with or without a port, so no link can begin with it.',
  );
}

/** RFC 3986, 3.2.2 and 3.2.3, of names those that hosts have. */
function isHost(text: string): boolean {
  if (text.length > MAX_HOST_LENGTH) return false;
  const { name, address, port = '0' } = HOST.exec(text)?.groups ?? {};
  if (Number(port) > MAX_PORT) return false;
  return name === undefined ? address !== undefined && isIPv6(address) : !name.includes('..');
}
