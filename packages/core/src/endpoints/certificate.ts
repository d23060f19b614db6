import { X509Certificate } from 'node:crypto';

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

/**
 * The certificates of a PEM text, with the comments around them left out; `undefined` when there is none, when one
 * can't be parsed, or when there is anything else, such as a private key that would be taken for public.
 */
export function parseCertificates(pem: string): readonly string[] | undefined {
  const blocks = pem.match(CERTIFICATE) ?? [];
  const begins = pem.match(ANY_BEGIN) ?? [];
  return blocks.length > 0 && blocks.length === begins.length && blocks.every(isParsable)
    ? blocks
    : undefined;
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

function isParsable(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    return false;
  }
}
