import { sign } from 'node:crypto';
import { promisify } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Signer } from '../endpoints/signing-keys/signing-keys';

// With a callback, Node signs in its thread pool.
const signInPool = promisify(sign);

// An event of the usual size, sent to many webhooks of its account within a second.
const REMEMBERED_BYTES = 8 * 1024 * 1024;
const ENTRY_BYTES = 500;

/** The signed parts by Standard Webhooks, for all schemes. */
export interface StandardMessage {
  /** The event's id, sent as `webhook-id`; the same on every attempt. */
  readonly id: string;
  /** When this attempt was signed, in whole seconds since the Unix epoch, sent as `webhook-timestamp`. */
  readonly timestamp: number;
  /** The text that is sent, in UTF-8. */
  readonly body: string;
}

interface Signed {
  readonly body: string;
  readonly signature: Promise<string>;
}

/**
 * Signatures with Ed25519. One takes many times as long as an HMAC, so it is made in a thread of the pool,
 * and once for all attempts that send the same bytes in the same second: those of an event to several
 * webhooks.
 */
export class Ed25519Signatures {
  readonly #recent = new LRUCache<string, Signed>({
    maxSize: REMEMBERED_BYTES,
    sizeCalculation: ({ body }) => ENTRY_BYTES + body.length * 2,
  });

  /** @param signBytes how a message is signed. */
  constructor(private readonly signBytes = signInPool) {}

  /** A signature of `webhook-signature`: `v1a,` and base64. */
  async sign({ kid, privateKey }: Signer, message: StandardMessage): Promise<string> {
    const name = `${kid}.${message.id}.${message.timestamp}`;
    const known = this.#recent.get(name);
    if (known?.body === message.body) return await known.signature;
    const signature = this.#signOnce(privateKey, message);
    this.#recent.set(name, { body: message.body, signature });
    return await signature;
  }

  async #signOnce(
    privateKey: Signer['privateKey'],
    { id, timestamp, body }: StandardMessage,
  ): Promise<string> {
    // No digest is named: Ed25519 takes the whole message (RFC 8032).
    const signature = await this.signBytes(undefined, Buffer.from(`${id}.${timestamp}.${body}`), privateKey);
    return `v1a,${signature.toString('base64')}`;
  }
}
