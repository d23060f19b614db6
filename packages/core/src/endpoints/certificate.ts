import { type KeyObject, X509Certificate } from 'node:crypto';
import { faultOfPublicKey } from '../egress/public-key-cost';

/** What may be shown of a certificate. */
export interface CertificateSummary {
  readonly subject: string;
  /** As OpenSSL writes it: pairs of hex digits, separated by colons. */
  readonly fingerprintSha256: string;
  /** Milliseconds since the Unix epoch. */
  readonly expiresAt: number;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const ANY_BEGIN = /-----BEGIN /g;

// A chain, or a few authorities.
const MAX_CERTIFICATES = 16;

export type CertificatesText =
  | { readonly kind: 'good'; readonly certificates: readonly string[] }
  /** In words that follow the text's name; none when there is no telling what it is. */
  | { readonly kind: 'bad'; readonly fault: string | undefined };

/**
 * The certificates of a PEM text, with the comments around them left out; bad when there is none, when one can't be
 * parsed, or when there is anything else, such as a private key that would be taken for public. Also when there are more
 * than sixteen, or one has a key that is costly to check a signature with.
 */
export function readCertificates(pem: string): CertificatesText {
  const certificates = pem.match(CERTIFICATE) ?? [];
  const begins = pem.match(ANY_BEGIN) ?? [];
  if (certificates.length === 0 || certificates.length !== begins.length) return bad();
  if (certificates.length > MAX_CERTIFICATES)
    return bad(`must have at most ${MAX_CERTIFICATES} certificates`);
  const keys = certificates.map(publicKeyOf);
  if (keys.includes(undefined)) return bad();
  const fault = keys.map((key) => key && faultOfPublicKey(key)).find((each) => each !== undefined);
  return fault === undefined ? { kind: 'good', certificates } : bad(fault);
}

/** Of several certificates, the first. */
export function summarizeCertificate(pem: string): CertificateSummary {
  const certificate = new X509Certificate(pem);
  return {
    subject: certificate.subject.split('\n').join(', '),
    fingerprintSha256: certificate.fingerprint256,
    expiresAt: Date.parse(certificate.validTo),
  };
}

function bad(fault?: string): CertificatesText {
  return { kind: 'bad', fault };
}

function publicKeyOf(certificate: string): KeyObject | undefined {
  try {
    return new X509Certificate(certificate).publicKey;
  } catch {
    return undefined;
  }
}
