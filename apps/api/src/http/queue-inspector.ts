import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { createBullBoard } from '@bull-board/api';
import { type Authentication, requireOperator } from '@hookferry/core/accounts/authentication';
import type { InspectedQueue, InspectedQueues } from '@hookferry/core/queue/bullmq-inspected-queues';
import { type Express, type RequestHandler, Router, static as serveFiles } from 'express';
import { contentSecurityPolicy } from 'helmet';

type ServerAdapter = Parameters<typeof createBullBoard>[0]['serverAdapter'];
type BoardQueues = Parameters<ServerAdapter['setQueues']>[0];
type BoardConfig = Parameters<ServerAdapter['setUIConfig']>[0];

const PATH = '/internal/queues';

/** The page may run its own files, which set styles of their own, and read the data that it shows. */
const pageSecurity = contentSecurityPolicy({
  useDefaults: false,
  directives: {
    'default-src': ["'none'"],
    'base-uri': ["'self'"],
    'script-src': ["'self'"],
    'style-src': ["'self'", "'unsafe-inline'"],
    'connect-src': ["'self'"],
    'img-src': ["'self'", 'data:'],
    'frame-ancestors': ["'none'"],
  },
});

// Its own page loads a font from elsewhere.
const FONTS = /<link href="https:[^>]*>/g;
const PLACE = /<%[=-] (\w+) %>/g;

/** Show the jobs on the queues in an operator's browser. Nothing can be changed: all routes only read. */
export function mountQueueInspector(
  app: Express,
  queues: InspectedQueues,
  authentication: Authentication,
): void {
  let opened: ReturnType<typeof openBoard> | undefined;
  const showCurrent: RequestHandler = async (request, response, next) => {
    opened ??= openBoard();
    const { router, show } = await opened;
    // They may be split again at any time.
    show(queues.list());
    router(request, response, next);
  };
  app.use(PATH, requireOperatorOf(authentication), pageSecurity, showCurrent);
}

// On first use: it takes six megabytes, and most processes never show it.
async function openBoard() {
  const { createBullBoard } = await import('@bull-board/api');
  const { BullMQAdapter } = await import('@bull-board/api/bullMQAdapter');
  const board = new ReadOnlyBoard();
  const { replaceQueues } = createBullBoard({
    queues: [],
    serverAdapter: board,
    options: { uiConfig: { boardTitle: 'Queues' } },
  });
  // A queue outside the first shard is named after the prefix of its keys.
  const adapterOf = ({ shard, isFirstShard, queue }: InspectedQueue) =>
    new BullMQAdapter(queue, { readOnlyMode: true, prefix: isFirstShard ? '' : `${shard.prefix}:` });
  return {
    router: board.router,
    show: (current: readonly InspectedQueue[]) => replaceQueues(current.map(adapterOf)),
  };
}

// Browsers ask for a name and a password, and send them with each request from then on: the key is the
// password.
function requireOperatorOf(authentication: Authentication): RequestHandler {
  return async (request, response, next) => {
    response.set('www-authenticate', 'Basic realm="queues", charset="UTF-8"');
    const authorization = asBearer(request.headers.authorization);
    requireOperator(await authentication.authenticate(authorization, request.ip));
    response.removeHeader('www-authenticate');
    next();
  };
}

const BASIC = /^Basic +(\S+)$/i;

function asBearer(authorization: string | undefined): string | undefined {
  const encoded = BASIC.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return authorization;
  const pair = Buffer.from(encoded, 'base64').toString();
  return `Bearer ${pair.slice(pair.indexOf(':') + 1)}`;
}

/** The server adapter for Bull Board, only for reading. */
class ReadOnlyBoard implements ServerAdapter {
  readonly router = Router();
  #queues: BoardQueues = new Map();
  #config: BoardConfig = {};
  #views = '';

  setQueues(queues: BoardQueues): this {
    this.#queues = queues;
    return this;
  }

  setViewsPath(folder: string): this {
    this.#views = folder;
    return this;
  }

  setStaticPath(route: string, folder: string): this {
    this.router.use(route, serveFiles(folder, { maxAge: '1h' }));
    return this;
  }

  setUIConfig(config: BoardConfig): this {
    this.#config = config;
    return this;
  }

  // Errors of Bull Board's handlers are handled as all errors are.
  setErrorHandler(): this {
    return this;
  }

  setEntryRoute({ route, handler }: Parameters<ServerAdapter['setEntryRoute']>[0]): this {
    this.router.get(route, (_request, response) => {
      const { name, params } = handler({ basePath: PATH, uiConfig: this.#config });
      const page = readFileSync(join(this.#views, name), 'utf8').replace(FONTS, '');
      response.type('html').send(page.replace(PLACE, (_place, member: string) => params[member] ?? ''));
    });
    return this;
  }

  setApiRoutes(routes: Parameters<ServerAdapter['setApiRoutes']>[0]): this {
    for (const { method, route, handler } of routes.filter((one) => one.method === 'get')) {
      this.router[method as 'get'](route, async ({ query, params }, response) => {
        const asked = { queues: this.#queues, uiConfig: this.#config, query, params, body: {}, headers: {} };
        const { status = 200, body } = await handler(asked);
        response.status(status).json(body);
      });
    }
    return this;
  }
}
