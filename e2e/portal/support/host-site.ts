import { type LocalServer, startHttpServer } from '@hookferry/core/testing/local-server';

/** A site of somebody else, of an origin of its own: whatever its page, it hears what is posted to it. */
export class HostSite {
  #html = '';

  private constructor(private readonly server: LocalServer) {}

  static async start(): Promise<HostSite> {
    const server = await startHttpServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(site.#html);
    });
    const site = new HostSite(server);
    return site;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.server.port}`;
  }

  /** From now on its page frames these. */
  frames(...urls: readonly string[]): void {
    const frames = urls.map((url) => `<iframe src="${url}" width="1000" height="600"></iframe>`);
    this.#html = `<!doctype html><title>host</title>${frames.join('')}<script>${LISTEN}</script>`;
  }

  async stop(): Promise<void> {
    await this.server.close();
  }
}

const LISTEN = `window.heard = []; addEventListener('message', ({ data, origin }) => heard.push({ data, origin }))`;
