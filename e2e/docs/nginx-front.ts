import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CertificateAuthority, hasOpenssl } from '@hookferry/core/testing/certificate-authority';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { askTool } from '../packages/ask-tool';
import { runWell } from '../packages/run-program';
import { until } from '../support/until';

/** The service's name in what we ship. */
const NAME = 'hooks.example.com';
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

export interface FrontOptions {
  /** For what it writes. */
  readonly folder: string;
  /** Our configuration, as we ship it. */
  readonly configuration: string;
  /** Of the first API of the upstream. The second one is not there. */
  readonly apiPort: number;
}

/** nginx in front of an API, with TLS and our configuration: all of it, but for ports and the paths of the certificate. */
export class NginxFront {
  private constructor(
    private readonly nginx: ChildProcess,
    private readonly authority: string,
    private readonly port: number,
    readonly httpPort: number,
  ) {}

  /** Undefined, and said loudly, where nginx or openssl can't be had. */
  static async start(options: FrontOptions): Promise<NginxFront | undefined> {
    type Found = { readonly program: string } | { readonly refusal: string };
    const found = await askTool<Found>('tools/nginx/find-nginx.mjs', 'findNginx()');
    if (!found || !('program' in found) || !hasOpenssl) {
      process.stderr.write(`SKIPPED: nginx, because it or openssl can't be had: ${JSON.stringify(found)}\n`);
      return undefined;
    }
    const { folder } = options;
    const [authority, http, https] = [
      new CertificateAuthority(),
      await findClosedPort(),
      await findClosedPort(),
    ];
    const { cert, key } = authority.issue({ subject: `DNS:${NAME}` });
    await writeFile(join(folder, 'fullchain.pem'), cert);
    await writeFile(join(folder, 'privkey.pem'), key);
    const args = ['-p', folder, '-c', await writeConfiguration(options, http, https)];
    await runWell(found.program, ['-t', ...args], folder);
    const nginx = spawn(found.program, args, { stdio: 'inherit' });
    const front = new NginxFront(nginx, authority.cert, https, http);
    await until(async () => (await front.ask('/').catch(() => undefined)) && true);
    return front;
  }

  /** @param body is posted. */
  async ask(path: string, headers: Readonly<Record<string, string>> = {}, body?: string) {
    const sent = request({
      host: '127.0.0.1',
      port: this.port,
      path,
      ca: this.authority,
      servername: NAME,
      method: body === undefined ? 'GET' : 'POST',
      headers: { host: NAME, ...headers },
      agent: false,
    });
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: response.statusCode, text: await text(response) };
  }

  async stop(): Promise<void> {
    const exited = once(this.nginx, 'exit');
    this.nginx.kill('SIGTERM');
    await exited;
  }
}

async function writeConfiguration(options: FrontOptions, http: number, https: number): Promise<string> {
  const { folder, configuration, apiPort } = options;
  const adapted = (await readFile(configuration, 'utf8'))
    .replaceAll(`/etc/letsencrypt/live/${NAME}`, folder)
    .replaceAll(/^ *listen \[::\].*\n/gm, '')
    .replace('listen 80;', `listen 127.0.0.1:${http};`)
    .replace('listen 443 ', `listen 127.0.0.1:${https} `)
    .replace(':3000 ', `:${apiPort} `)
    .replace(':3010 ', `:${await findClosedPort()} `);
  const paths = TEMPORARY.map((each) => `${each}_temp_path ${folder}/${each};`).join('\n');
  const file = join(folder, 'nginx.conf');
  const around = `daemon off; master_process off; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;`;
  await writeFile(file, `${around}\nevents {}\nhttp {\naccess_log off;\n${paths}\n${adapted}\n}\n`);
  return file;
}
