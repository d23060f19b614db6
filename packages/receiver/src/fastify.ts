import type { FastifyPluginAsync } from 'fastify';
import { createReceive, DEFAULT_MAX_BYTES } from './receive';
import type { ReceiverOptions } from './receiver-options';

export type { Handler, Handlers, HandlingOptions, ReceiverOptions } from './receiver-options';

export type WebhooksPluginOptions<Events extends object = Record<string, unknown>> =
  ReceiverOptions<Events> & {
    /** The path that receives webhooks, such as `/webhooks`. */
    readonly path: string;
  };

/**
 * A plugin for Fastify: `await app.register(webhooks({ path: '/webhooks', secret, on: { … } }))`. Its content type
 * parser, which keeps bytes as they are, is for this route alone. Other routes parse JSON as before.
 */
export function webhooks<Events extends object = Record<string, unknown>>(
  options: WebhooksPluginOptions<Events>,
): FastifyPluginAsync {
  const receive = createReceive(options);
  const { path, maxBytes = DEFAULT_MAX_BYTES } = options;
  return async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: maxBytes },
      async (_request: unknown, body: Buffer) => body,
    );
    app.post(path, async ({ headers, body }, reply) => {
      const response = await receive({ headers, readBody: () => (body ?? '') as Buffer });
      return await reply.code(response.status).headers(response.headers).send(response.text);
    });
  };
}
