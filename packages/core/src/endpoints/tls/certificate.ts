import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { z } from 'zod';
import type { Endpoint } from '../../domain/endpoint';
import { invalidRequest, type ValidationError } from '../../platform/app-error';
import { formatTime } from '../../platform/clock';
import { readClientKey } from './client-key';
import { faultOfPublicKey } from './receiver-certificate';

/** The parts of a certificate that may be shown. */
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
  /** In words that follow the text's name; absent when the text can't be recognised. */
  | { readonly kind: 'bad'; readonly fault: string | undefined };

/**
 * The certificates of a PEM text, without the comments around them. The text is bad if it has no certificate,
 * one that can't be parsed, or anything else, such as a private key that would be taken for public. It is
 * also bad with more than sixteen certificates, or with a key that is costly to verify signatures with.
 */
function readCertificates(pem: string): CertificatesText {
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

/** The first certificate counts. */
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

type Tls = NonNullable<Endpoint['tls']>;

/**
 * Check an endpoint's TLS material as a whole after a change. Each part is known to be well formed.
 *
 * @throws AppError `invalid_request` when a connection could not be made with it.
 */
export function checkTls({ certificate, key }: Tls, now: number): void {
  const fault = faultOf(certificate, key, now);
  if (fault) throw invalidRequest([fault]);
}

function faultOf(
  certificate: string | undefined,
  key: string | undefined,
  now: number,
): ValidationError | undefined {
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined) return certificateFault('is required with a client_key');
  if (key === undefined) return keyFault('is required with a client_certificate');
  // It may have been stored before keys were checked as closely as now.
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

// Material that OpenSSL refuses, such as a key that is too short, would fail at each delivery.
function unusable(certificate: string, key: string): ValidationError | undefined {
  try {
    // An authority is named for speed: without one, Node would load all that it knows.
    createSecureContext({ cert: certificate, key, ca: certificate });
    return undefined;
  } catch (error) {
    const { reason = 'OpenSSL refuses it' } = error as { readonly reason?: string };
    return certificateFault(`cannot be used for TLS: ${reason}`);
  }
}

function certificateFault(detail: string): ValidationError {
  return { pointer: '/tls/client_certificate', detail };
}

function keyFault(detail: string): ValidationError {
  return { pointer: '/tls/client_key', detail };
}

// A chain or a few authorities. More would make every read of the endpoint heavy.
const MAX_PEM_CHARACTERS = 16 * 1024;

const pemSchema = z.string().max(MAX_PEM_CHARACTERS, `must have at most ${MAX_PEM_CHARACTERS} characters`);

function certificatesSchema(message: string) {
  return pemSchema.transform((pem, context) => {
    const read = readCertificates(pem);
    if (read.kind === 'good') return `${read.certificates.join('\n')}\n`;
    context.addIssue({ code: 'custom', message: read.fault ?? message });
    return z.NEVER;
  });
}

const privateKeySchema = pemSchema.transform((pem, context) => {
  const read = readClientKey(pem);
  if (read.kind === 'good') return read.pem;
  context.addIssue({ code: 'custom', message: read.fault });
  return z.NEVER;
});

const CA =
  "The authorities that may have signed the receiver's certificate, in place of the public ones. PEM.";
const CLIENT_CERTIFICATE =
  'The certificate that the service shows to the receiver, followed by its intermediate authorities. PEM.';
const CLIENT_KEY = 'The private key of `client_certificate`. PEM. No response shows it.';

const caSchema = certificatesSchema('must be one or more certificates in PEM, and nothing else');
const clientCertificateSchema = certificatesSchema(
  'must be a certificate in PEM, followed by those of its intermediate authorities, and nothing else',
);

/** The TLS input of a new endpoint. */
export const newTlsSchema = z
  .strictObject({
    ca: caSchema.optional().describe(CA),
    client_certificate: clientCertificateSchema.optional().describe(CLIENT_CERTIFICATE),
    client_key: privateKeySchema.optional().describe(CLIENT_KEY),
  })
  .transform(renameMembers);

/** The TLS input of a patch; `null` removes. */
export const tlsPatchSchema = z
  .strictObject({
    ca: caSchema.nullish().describe(CA),
    client_certificate: clientCertificateSchema.nullish().describe(CLIENT_CERTIFICATE),
    client_key: privateKeySchema.nullish().describe(CLIENT_KEY),
  })
  .transform(renameMembers);

interface TlsInput<Text> {
  readonly ca?: Text;
  readonly client_certificate?: Text;
  readonly client_key?: Text;
}

export interface TlsMembers<Text> {
  readonly ca?: Text;
  readonly certificate?: Text;
  readonly key?: Text;
}

// JSON's names are converted where input is parsed.
function renameMembers<Text>(input: TlsInput<Text>): TlsMembers<Text | undefined> {
  return { ca: input.ca, certificate: input.client_certificate, key: input.client_key };
}

/**
 * What keeps an endpoint's TLS material from being used. New material is checked on input. This check is for
 * material that was stored under older rules. Each is checked once, as long as it is remembered.
 */
export function createTlsFaults(): (tls: Tls) => string | undefined {
  const validationErrors = new WeakMap<Tls, { readonly fault: string | undefined }>();
  return (tls) => {
    const known = validationErrors.get(tls) ?? { fault: faultOfStored(tls) };
    validationErrors.set(tls, known);
    return known.fault;
  };
}

function faultOfStored({ ca, certificate, key }: Tls): string | undefined {
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
