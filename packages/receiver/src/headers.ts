import { WebhookVerificationError } from './verification-error';

/** A request's headers: of `fetch`, of Node, or any object of names (in any case) and values. */
export type RequestHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The value of a header, or undefined where it is missing.
 *
 * @param name in lower case
 * @throws WebhookVerificationError `missing_header` if it came more than once, because either value may be the wrong one.
 */
export function readHeader(headers: RequestHeaders, name: string): string | undefined {
  const values = valuesOf(headers, name);
  // Node and fetch join headers that come twice by ", ". No value of the service has a comma before white space.
  if (values.length > 1 || values.some((value) => /,\s/.test(value))) {
    throw missingHeader(name, 'came more than once: check the proxy in front of this server');
  }
  return values[0];
}

/** @throws WebhookVerificationError `missing_header` also where it is missing. */
export function requireHeader(headers: RequestHeaders, name: string): string {
  const value = readHeader(headers, name);
  if (value) return value;
  throw missingHeader(name, 'is missing: pass all headers, and check that no proxy removes it');
}

export function missingHeader(name: string, what: string): WebhookVerificationError {
  return new WebhookVerificationError('missing_header', `The header ${name} ${what}.`, { header: name });
}

function valuesOf(headers: RequestHeaders, name: string): readonly string[] {
  if (isFetchHeaders(headers)) return [headers.get(name) ?? []].flat();
  // Callers without TypeScript may pass none.
  return Object.entries(headers ?? {})
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value ?? []);
}

function isFetchHeaders(headers: RequestHeaders): headers is { get(name: string): string | null } {
  return typeof headers?.get === 'function';
}
