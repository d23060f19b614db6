import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Fault } from '../kernel/app-error';
import { formatTime } from '../kernel/clock';
import { invalidRequest } from '../kernel/faults';
import type { Endpoint } from '../model/endpoint';
import { summarizeCertificate } from './certificate';
import { readClientKey } from './client-key';

type Tls = NonNullable<Endpoint['tls']>;

/**
 * Looks at what a change has made of an endpoint's TLS material as a whole; each part is known to be well formed.
 *
 * @throws AppError `invalid_request` when a connection could not be made with it.
 */
export function checkTls({ certificate, key }: Tls, now: number): void {
  const fault = faultOf(certificate, key, now);
  if (fault) throw invalidRequest([fault]);
}

function faultOf(certificate: string | undefined, key: string | undefined, now: number): Fault | undefined {
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined) return certificateFault('is required with a client_key');
  if (key === undefined) return keyFault('is required with a client_certificate');
  // It may have been stored before keys were looked at as closely as now.
  const read = readClientKey(key);
  if (read.kind === 'bad') return keyFault(read.fault);
  const { expiresAt } = summarizeCertificate(certificate);
  if (expiresAt <= now) return certificateFault(`has expired at ${formatTime(expiresAt)}`);
  if (!belongTogether(certificate, key)) return keyFault('is not the key of the client_certificate');
  return unusable(certificate, key);
}

function belongTogether(certificate: string, key: string): boolean {
  return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
}

// What OpenSSL refuses, such as a key that is too short, would fail at each delivery.
function unusable(certificate: string, key: string): Fault | undefined {
  try {
    // An authority is named for the sake of speed: without one, all that Node knows would be loaded.
    createSecureContext({ cert: certificate, key, ca: certificate });
    return undefined;
  } catch (error) {
    const { reason = 'OpenSSL refuses it' } = error as { readonly reason?: string };
    return certificateFault(`can not be used for TLS: ${reason}`);
  }
}

function certificateFault(detail: string): Fault {
  return { pointer: '/tls/client_certificate', detail };
}

function keyFault(detail: string): Fault {
  return { pointer: '/tls/client_key', detail };
}
