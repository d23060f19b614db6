/** True if this browser can sign: only on pages of https or of this machine. */
export const canSign = (): boolean => window.isSecureContext;

/** The key is the secret as it was issued, in UTF-8; the form is hex. */
export async function signBody(secret: string, body: string): Promise<string> {
  const signature = await hmac(new TextEncoder().encode(secret), body);
  return Array.from(signature, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Standard Webhooks: the key is what the base64 after `whsec_` says; the form is base64. */
export async function signMessage(secret: string, message: string): Promise<string> {
  const key = Uint8Array.from(atob(secret.replace(/^whsec_/, '')), (character) => character.charCodeAt(0));
  return btoa(String.fromCharCode(...(await hmac(key, message))));
}

async function hmac(key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, new TextEncoder().encode(text)));
}

export interface SignedRequest {
  readonly id: string;
  /** Of the attempt, as it was sent. */
  readonly timestamp: string;
  readonly body: string;
}

/** The result of checking a signature. */
export type Verdict =
  | 'good'
  /** It was made by this secret, of the same body, for another time. */
  | 'good_for_the_body'
  | 'bad'
  /** By a key pair: no secret has to do with it, its public key has. */
  | 'by_key'
  /** It was made by the private key of this public key. */
  | 'good_by_key'
  /** No signature among them is one by a key pair. */
  | 'not_by_key'
  | 'no_key'
  /** This browser knows no Ed25519. */
  | 'no_ed25519'
  | 'no_secret';

/** Checks a header's value, as a receiver got it, by a secret or a public key. Of several signatures one has to be good. */
export async function checkSignature(
  secretOrKey: string,
  received: string,
  request: SignedRequest,
): Promise<Verdict> {
  const values = received.trim().split(/[\s]+/);
  if (secretOrKey.startsWith(PUBLIC_KEY)) return await checkByKey(secretOrKey, values, request);
  return await checkBySecret(secretOrKey, values, request);
}

const PUBLIC_KEY = 'whpk_';
const BY_KEY = 'v1a,';

async function checkByKey(
  publicKey: string,
  values: readonly string[],
  request: SignedRequest,
): Promise<Verdict> {
  const signatures = values.filter((value) => value.startsWith(BY_KEY));
  if (signatures.length === 0) return 'not_by_key';
  const raw = bytesOf(publicKey.slice(PUBLIC_KEY.length));
  if (raw?.length !== KEY_BYTES) return 'no_key';
  const key = await crypto.subtle
    .importKey('raw', raw, { name: 'Ed25519' }, false, ['verify'])
    .catch(() => undefined);
  if (!key) return 'no_ed25519';
  const message = new TextEncoder().encode(messageOf(request));
  for (const signature of signatures) {
    const bytes = bytesOf(signature.slice(BY_KEY.length));
    if (bytes && (await crypto.subtle.verify('Ed25519', key, bytes, message))) return 'good_by_key';
  }
  return 'bad';
}

// RFC 8032.
const KEY_BYTES = 32;

/** undefined: it is no base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

const messageOf = ({ id, timestamp, body }: SignedRequest) => `${id}.${timestamp}.${body}`;

async function checkBySecret(
  secret: string,
  values: readonly string[],
  request: SignedRequest,
): Promise<Verdict> {
  if (values.every((value) => value.startsWith(BY_KEY))) return 'by_key';
  const byBody = await signBody(secret, request.body);
  // Whatever stands before it: `sha256=`, unless the operator has chosen something else.
  if (values.some((value) => value.toLowerCase().endsWith(byBody))) return 'good_for_the_body';
  const byMessage = await signMessage(secret, messageOf(request)).catch(() => undefined);
  if (byMessage === undefined) return 'no_secret';
  return values.some((value) => value.replace(/^v1,/, '') === byMessage) ? 'good' : 'bad';
}
