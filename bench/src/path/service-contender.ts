import { BuiltService } from '../processes/built-service';
import { EVENT_TYPE } from '../traffic/event-text';
import type { PathContender } from './contender';

export function serviceContender(build: string): PathContender {
  return {
    name: 'this service',

    async start({ redisUrl, receiverUrl, nodeOptions = [] }) {
      const service = await BuiltService.start({ build, redisUrl, nodeOptions });
      await service.register('default', receiverUrl, EVENT_TYPE);
      const { api, worker } = service;
      return { api, worker, target: service.targetOf('default'), stop: () => service.stop() };
    },
  };
}
