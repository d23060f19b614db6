/** Whether this browser signs: only on pages of https and of this machine. */
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

/** What a signature is found to be. */
export type Verdict =
  | 'good'
  /** It was made by this secret, of the same body, for another time. */
  | 'good_for_the_body'
  | 'bad'
  /** By a key pair: no secret has to do with it. */
  | 'by_key'
  | 'no_secret';

/** Checks a header's value, as a receiver got it, by a secret. Of several signatures one has to be good. */
export async function checkSignature(
  secret: string,
  received: string,
  request: SignedRequest,
): Promise<Verdict> {
  const values = received.trim().split(/[\s]+/);
  if (values.every((value) => value.startsWith('v1a,'))) return 'by_key';
  const byBody = await signBody(secret, request.body);
  // Whatever stands before it: `sha256=`, unless the operator has chosen something else.
  if (values.some((value) => value.toLowerCase().endsWith(byBody))) return 'good_for_the_body';
  const byMessage = await signMessage(secret, `${request.id}.${request.timestamp}.${request.body}`).catch(
    () => undefined,
  );
  if (byMessage === undefined) return 'no_secret';
  return values.some((value) => value.replace(/^v1,/, '') === byMessage) ? 'good' : 'bad';
}
