/** The headers of a response that tell people why it is as it is. Never one that may carry a secret. */
const KEPT = [
  'content-type',
  'content-length',
  'date',
  'location',
  'retry-after',
  'server',
  'via',
  'webhook-delivery',
  'www-authenticate',
  'x-request-id',
] as const;

const MAX_VALUE_LENGTH = 200;
const MAX_LENGTH = 1_024;

/** What is kept of a response's headers: at most 200 characters of each, and 1,024 with their names. */
export function keptHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Readonly<Record<string, string>> | undefined {
  const kept: Record<string, string> = {};
  let length = 0;
  for (const name of KEPT) {
    const value = valueOf(headers[name]);
    length += value === undefined ? 0 : name.length + value.length;
    if (length > MAX_LENGTH) break;
    if (value !== undefined) kept[name] = value;
  }
  return Object.keys(kept).length === 0 ? undefined : kept;
}

function valueOf(value: string | string[] | undefined): string | undefined {
  return (Array.isArray(value) ? value.join(', ') : value)?.slice(0, MAX_VALUE_LENGTH);
}
