import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateWish {
  /** Such as `IP:127.0.0.1` or `DNS:example.com`. */
  readonly subject: string;
  /** From today. −1 makes one that has expired. Default: 2. */
  readonly days?: number;
  /** Default: `ec`. */
  readonly keyType?: keyof typeof NEW_KEYS;
}

/** Whether this machine can make certificates: node:crypto can't. */
export const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

const NEW_KEYS = {
  ec: ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
  rsa: ['-newkey', 'rsa:2048', '-nodes'],
  /** Whose public exponent has 1,001 bits instead of 17. */
  costlyRsa: ['-newkey', 'rsa:2048', '-pkeyopt', `rsa_keygen_pubexp:${2n ** 1_000n + 65_537n}`, '-nodes'],
} as const;

/** A certificate authority in a folder of its own. */
export class CertificateAuthority {
  readonly #folder = mkdtempSync(join(tmpdir(), 'webhooks-certificates-'));
  /** The file with its own certificate, for clients that trust it. */
  readonly certFile = join(this.#folder, 'ca.pem');
  readonly cert: string;
  readonly #keyFile = join(this.#folder, 'ca.key');

  constructor() {
    const subject = ['-subj', '/CN=Authority of a test', '-days', '2'];
    openssl(['req', '-x509', ...NEW_KEYS.ec, ...subject, '-keyout', this.#keyFile, '-out', this.certFile]);
    this.cert = readFileSync(this.certFile, 'utf8');
  }

  issue({ subject, days = 2, keyType = 'ec' }: CertificateWish): Certificate {
    const [request, keyFile, certFile, extensions] = ['csr', 'key', 'pem', 'ext'].map((ending) =>
      join(this.#folder, `issued.${ending}`),
    ) as [string, string, string, string];
    writeFileSync(extensions, `subjectAltName=${subject}\n`);
    const newKey = [...NEW_KEYS[keyType], '-keyout', keyFile, '-out', request];
    openssl(['req', ...newKey, '-subj', '/CN=Receiver of a test']);
    const authority = ['-CA', this.certFile, '-CAkey', this.#keyFile, '-CAcreateserial'];
    const form = ['-days', String(days), '-extfile', extensions];
    openssl(['x509', '-req', '-in', request, ...authority, ...form, '-out', certFile]);
    return { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  }

  /** The certificate that it has signed itself. */
  own(): Certificate {
    return { cert: readFileSync(this.certFile, 'utf8'), key: readFileSync(this.#keyFile, 'utf8') };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}

function openssl(args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: 'pipe' });
}
