import { UsageError } from '../failures/usage-error';

export interface SavedRequest {
  /** Each with its values: one that came more than once is for the receiver to check. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** Byte for byte. */
  readonly body: Buffer;
}

const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*?)\s*$/;
const REQUEST_LINE = /^[A-Z]+ \S+ HTTP\/\d/;

/** Header lines, an empty line and the body, as HTTP/1.1 has them; a request line may come first. @throws UsageError. */
export function parseRequest(bytes: Buffer): SavedRequest {
  const [end, bodyAt] = endOfHead(bytes);
  const lines = bytes.subarray(0, end).toString('latin1').split(/\r?\n/);
  if (REQUEST_LINE.test(lines[0] ?? '')) lines.shift();
  const headers: Record<string, readonly string[]> = {};
  for (const line of lines) {
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name === undefined || value === undefined)
      throw notARequest(`"${line.slice(0, 60)}" is no header line.`);
    const key = name.toLowerCase();
    headers[key] = [...(headers[key] ?? []), value];
  }
  return { headers, body: bytes.subarray(bodyAt) };
}

function endOfHead(bytes: Buffer): readonly [end: number, bodyAt: number] {
  const [crlf, lf] = [bytes.indexOf('\r\n\r\n'), bytes.indexOf('\n\n')];
  if (crlf >= 0 && (lf < 0 || crlf < lf)) return [crlf, crlf + 4];
  if (lf >= 0) return [lf, lf + 2];
  throw notARequest('The headers are not followed by an empty line.');
}

function notARequest(message: string): UsageError {
  return new UsageError(
    message,
    'Save it as: header lines ("webhook-id: …"), an empty line, then the raw body.',
  );
}
