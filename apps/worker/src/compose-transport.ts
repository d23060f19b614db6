import { GotTransport } from '@webhooks/core/attempt/got-transport';
import { cacheNames } from '@webhooks/core/egress/cache-names';
import { createClassifyAddress } from '@webhooks/core/egress/classify-address';
import { directRoute } from '@webhooks/core/egress/direct-route';
import { createGuardedLookup } from '@webhooks/core/egress/guarded-lookup';
import { createJudgeTarget } from '@webhooks/core/egress/judge-target';
import { proxyRoute } from '@webhooks/core/egress/proxy-route';
import { createResolveName } from '@webhooks/core/egress/resolve-name';
import { steadyClock } from '@webhooks/core/kernel/clock';
import type { Emit } from '@webhooks/core/model/signal';
import type { WorkerConfig } from './config';

/** What deliveries go out by: to allowed addresses only, straight or through the proxy. */
export function composeTransport(config: WorkerConfig, emit: Emit): GotTransport {
  const classifyAddress = createClassifyAddress({
    allowedCidrs: config.DELIVERY_ALLOWED_CIDRS,
    deniedCidrs: config.DELIVERY_DENIED_CIDRS,
  });
  const judgeTarget = createJudgeTarget({ classifyAddress, emit });
  const resolveName = cacheNames(createResolveName(), steadyClock);
  return new GotTransport({
    timeoutMs: config.DELIVERY_TIMEOUT,
    connectTimeoutMs: config.DELIVERY_CONNECT_TIMEOUT,
    readBytes: config.RESPONSE_BYTES_READ,
    keptBytes: config.RESPONSE_BYTES_KEPT,
    route: config.DELIVERY_PROXY_URL
      ? proxyRoute({
          proxy: config.DELIVERY_PROXY_URL,
          judgeTarget,
          connectTimeoutMs: config.DELIVERY_CONNECT_TIMEOUT,
        })
      : directRoute({ judgeTarget, lookup: createGuardedLookup(resolveName, judgeTarget) }),
  });
}
