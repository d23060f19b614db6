import { createPrivateKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { parseCertificates } from './certificate';

// A chain or a few authorities. More would make every read of the endpoint heavy.
const MAX_PEM_CHARACTERS = 16 * 1024;

const pemSchema = z.string().max(MAX_PEM_CHARACTERS, `must have at most ${MAX_PEM_CHARACTERS} characters`);

function certificatesSchema(message: string) {
  return pemSchema.transform((pem, context) => {
    const certificates = parseCertificates(pem);
    if (certificates) return `${certificates.join('\n')}\n`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

// As much as any authority asks for. A signature takes eight times as long with twice as many bits, and nothing else is done
// in the process meanwhile: with those that OpenSSL takes it could be a second for each connection.
const MAX_RSA_BITS = 4_096;

// Stored as PKCS #8, so that nothing goes along that stood around it.
const privateKeySchema = pemSchema.transform((pem, context) => {
  const key = parsePrivateKey(pem);
  if (key && (key.asymmetricKeyDetails?.modulusLength ?? 0) <= MAX_RSA_BITS) {
    return key.export({ type: 'pkcs8', format: 'pem' }).toString();
  }
  const message = key
    ? `must have at most ${MAX_RSA_BITS} bits`
    : 'must be a private key in PEM that is not encrypted';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

function parsePrivateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

const ca = certificatesSchema('must be one or more certificates in PEM, and nothing else');
const clientCertificate = certificatesSchema(
  'must be a certificate in PEM, followed by those of its intermediate authorities, and nothing else',
);

/** What a client may say of TLS when it registers an endpoint. */
export const newTlsSchema = z
  .strictObject({
    ca: ca.optional(),
    client_certificate: clientCertificate.optional(),
    client_key: privateKeySchema.optional(),
  })
  .transform(renameMembers);

/** What it may change of it; `null` removes. */
export const tlsPatchSchema = z
  .strictObject({
    ca: ca.nullish(),
    client_certificate: clientCertificate.nullish(),
    client_key: privateKeySchema.nullish(),
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

// JSON's names end at the door.
function renameMembers<Text>(input: TlsInput<Text>): TlsMembers<Text | undefined> {
  return { ca: input.ca, certificate: input.client_certificate, key: input.client_key };
}
