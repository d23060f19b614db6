import { z } from 'zod';
import { readCertificates } from './certificate';
import { readClientKey } from './client-key';

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
