import type { Endpoint } from '../model/endpoint';
import { readCertificates } from './certificate';
import { readClientKey } from './client-key';

type Tls = NonNullable<Endpoint['tls']>;

/**
 * What keeps an endpoint's TLS material from being used. What is taken in is looked at then; this is for what was stored
 * before that was as strict as now. Each is looked at once, as long as it is remembered at all.
 */
export function createTlsFaults(): (tls: Tls) => string | undefined {
  const faults = new WeakMap<Tls, { readonly fault: string | undefined }>();
  return (tls) => {
    const known = faults.get(tls) ?? { fault: faultOf(tls) };
    faults.set(tls, known);
    return known.fault;
  };
}

function faultOf({ ca, certificate, key }: Tls): string | undefined {
  return (
    faultOfCertificates('tls.ca', ca) ??
    faultOfCertificates('tls.client_certificate', certificate) ??
    faultOfKey(key)
  );
}

function faultOfCertificates(name: string, pem: string | undefined): string | undefined {
  const read = pem === undefined ? undefined : readCertificates(pem);
  if (read?.kind !== 'bad') return undefined;
  return `The webhook's ${name} ${read.fault ?? 'must be certificates in PEM'}.`;
}

function faultOfKey(pem: string | undefined): string | undefined {
  const read = pem === undefined ? undefined : readClientKey(pem);
  return read?.kind === 'bad' ? `The webhook's tls.client_key ${read.fault}.` : undefined;
}
