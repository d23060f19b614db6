import { chown, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CertificateAuthority, hasOpenssl } from '../../testing/certificate-authority';
import { hasPostgres, NO_POSTGRES, PostgresServer } from '../../testing/postgres-server';
import { PgDatabase } from './pg-database';

const canRun = hasPostgres && hasOpenssl;
if (!canRun)
  console.warn(`SKIPPED: TLS to the history's PostgreSQL: ${NO_POSTGRES}, or there is no openssl.`);
const describeTls = canRun ? describe : describe.skip;

describeTls("TLS to the history's PostgreSQL", () => {
  let server: PostgresServer;
  const authority = new CertificateAuthority();
  const opened: PgDatabase[] = [];
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await server.close();
    authority.remove();
  });

  async function present(subject: string): Promise<void> {
    const { cert, key } = authority.issue({ subject });
    const { uid, gid } = await stat(server.folder);
    for (const [name, text] of Object.entries({ 'server.crt': cert, 'server.key': key })) {
      const path = join(server.folder, name);
      await writeFile(path, text, { mode: 0o600 });
      await chown(path, uid, gid);
    }
    await server.query('ALTER SYSTEM SET ssl = on');
    await server.kill();
    await server.start();
  }

  const isEncrypted = async (query: string) => {
    const url = `${server.url}?${query}`;
    const database = new PgDatabase({ url, applicationName: 'test', readers: 1, writers: 1 });
    opened.push(database);
    const text = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
    return await database.connected(
      async (client) => (await client.query<{ ssl: boolean }>(text)).rows[0]?.ssl,
    );
  };

  it('is spoken, and the certificate is verified, as the URL says', async () => {
    await present('IP:127.0.0.1');
    const ofAuthority = `sslmode=verify-full&sslrootcert=${authority.certFile}`;
    expect(await isEncrypted(ofAuthority)).toBe(true);
    expect(await isEncrypted('sslmode=disable')).toBe(false);
    await expect(isEncrypted('sslmode=verify-full')).rejects.toMatchObject({
      code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    });
  });

  it('is not spoken with a server whose certificate is for another name', async () => {
    await present('DNS:db.example.com');
    const ofAuthority = `sslmode=verify-full&sslrootcert=${authority.certFile}`;
    await expect(isEncrypted(ofAuthority)).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });
});
