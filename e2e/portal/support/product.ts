import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';

interface ProductOptions {
  /** What its pages load, by the first part of its path. */
  readonly folders: Readonly<Record<string, string>>;
  /** Of its Content-Security-Policy, beside what is its own. */
  readonly policy: string;
}

/** Somebody's product, which shows the portal or webhooks of its own on its pages. */
export class Product {
  /** Of the last page that was served. */
  html = '';
  /** Undefined: it gives no link. */
  link: (() => Promise<string>) | undefined;
  linksGiven = 0;

  private constructor(private readonly server: Server) {}

  static async start({ folders, policy }: ProductOptions): Promise<Product> {
    const app = express();
    const server = app.listen(0, '127.0.0.1');
    const product = new Product(server);
    for (const [path, folder] of Object.entries(folders)) app.use(`/${path}`, express.static(folder));
    app.post('/portal-link', async (_request, response) => {
      product.linksGiven += 1;
      if (product.link) response.json({ url: await product.link() });
      else response.sendStatus(401);
    });
    app.get('/', (_request, response) => {
      response.set('content-security-policy', `default-src 'self'; ${policy}`);
      response.type('html').send(product.html);
    });
    app.get('/note.js', (_request, response) => void response.type('js').send(NOTE));
    await once(server, 'listening');
    return product;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }
}

const NOTE = `window.noted = [];
for (const name of ['ready', 'navigated', 'created', 'failed'])
  document.addEventListener(name, ({ detail }) => noted.push({ name, ...detail }), true);`;
