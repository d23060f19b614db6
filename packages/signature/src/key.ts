const SECRET_PREFIX = 'whsec_';

/** The secret as it is, which is the key of `X-Service-Signature`. */
export function keyTextOf(secret: string): string {
  requireSecret(secret);
  return secret;
}

/** What the secret says in base64, which is the key of Standard Webhooks. */
export function keyBytesOf(secret: string): Buffer {
  requireSecret(secret);
  const key = Buffer.from(encodedPartOf(secret), 'base64');
  if (key.length === 0) throw new TypeError('The secret has no key in base64: pass it as it was issued.');
  return key;
}

// A variable that was never set would make a secret that everybody knows: an HMAC can be made with an empty key.
function requireSecret(secret: unknown): asserts secret is string {
  if (typeof secret !== 'string') {
    const given = secret === null ? 'null' : Array.isArray(secret) ? 'an array' : typeof secret;
    throw new TypeError(`The secret must be a string, but is ${given}. Is its variable set?`);
  }
  if (encodedPartOf(secret).trim() === '') throw new TypeError('The secret is empty. Is its variable set?');
}

function encodedPartOf(secret: string): string {
  return secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret;
}
