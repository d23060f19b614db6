import { z } from 'zod';

/** No message repeats the value, which may hold a password. */
export const databaseUrlSchema = z
  .string()
  .refine(
    isDatabaseUrl,
    'must be postgresql://[user[:password]@]host[:port]/database[?sslmode=…] (user and password percent-encoded)',
  );

function isDatabaseUrl(text: string): boolean {
  return URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol);
}
