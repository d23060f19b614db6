import { BuiltService } from '../processes/built-service';
import { EVENT_TYPE } from '../traffic/event-text';
import type { PathContender } from './contender';

const REGISTERED_AT_ONCE = 8;

export function serviceContender(build: string): PathContender {
  return {
    name: 'this service',

    async start({ redisUrl, receiverUrls, nodeOptions = [] }) {
      // By default an account may have fewer.
      const environment = receiverUrls.length > 500 ? { MAX_WEBHOOKS: String(receiverUrls.length) } : {};
      const service = await BuiltService.start({ build, redisUrl, nodeOptions, environment });
      try {
        const ids = await registerAll(service, receiverUrls);
        const target = { ...service.targetOf('default'), webhookIds: ids.length > 1 ? ids : [] };
        return {
          api: service.api,
          worker: service.worker,
          target,
          addWorker: () => service.addWorker(),
          stop: () => service.stop(),
        };
      } catch (error) {
        await service.stop();
        throw error;
      }
    },
  };
}

async function registerAll(service: BuiltService, urls: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let start = 0; start < urls.length; start += REGISTERED_AT_ONCE) {
    const some = urls.slice(start, start + REGISTERED_AT_ONCE);
    ids.push(...(await Promise.all(some.map((url) => service.register('default', url, EVENT_TYPE)))));
  }
  return ids;
}
