import { GotTransport } from '@hookferry/core/attempt/got-transport';
import { cacheNames } from '@hookferry/core/egress/cache-names';
import { createClassifyAddress } from '@hookferry/core/egress/classify-address';
import { directRoute } from '@hookferry/core/egress/direct-route';
import { createGuardedLookup } from '@hookferry/core/egress/guarded-lookup';
import { createJudgeTarget } from '@hookferry/core/egress/judge-target';
import { proxyRoute } from '@hookferry/core/egress/proxy-route';
import { createResolveName } from '@hookferry/core/egress/resolve-name';
import { steadyClock } from '@hookferry/core/kernel/clock';
import type { Emit } from '@hookferry/core/model/signal';
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
