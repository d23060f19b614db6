import { AddressPolicy } from '@hookferry/core/deliver/egress/address-policy';
import { lookUpName, NameCache } from '@hookferry/core/deliver/egress/resolve-name';
import { DirectRoute, ProxyRoute } from '@hookferry/core/deliver/egress/routes';
import { GotTransport } from '@hookferry/core/deliver/got-transport';
import type { Emit } from '@hookferry/core/domain/signal';
import type { Transport } from '@hookferry/core/domain/transport';
import type { ReceiverCertificates } from '@hookferry/core/endpoints/tls/redis-receiver-certificates';
import { steadyClock } from '@hookferry/core/platform/clock';
import type { WorkerConfig } from './config';

interface TransportParts {
  readonly config: WorkerConfig;
  readonly receiverCertificates: ReceiverCertificates;
  readonly toListeners: Transport;
  readonly emit: Emit;
}

/** Open the transport of deliveries: to receivers, or to connected listeners. */
export function openTransport(parts: TransportParts) {
  const toReceivers = openGot(parts);
  const send: Transport = (request, abortSignal) =>
    request.listener === undefined
      ? toReceivers.send(request, abortSignal)
      : parts.toListeners(request, abortSignal);
  return { send, close: async () => toReceivers.close() };
}

/** To allowed addresses only, directly or through the proxy. */
function openGot({ config, receiverCertificates, emit }: TransportParts): GotTransport {
  const addressPolicy = new AddressPolicy({
    allowedCidrs: config.DELIVERY_ALLOWED_CIDRS,
    deniedCidrs: config.DELIVERY_DENIED_CIDRS,
  });
  const { DELIVERY_PROXY_URL: proxy, DELIVERY_CONNECT_TIMEOUT: connectTimeoutMs } = config;
  return new GotTransport({
    timeoutMs: config.DELIVERY_TIMEOUT,
    connectTimeoutMs,
    readBytes: config.RESPONSE_BYTES_READ,
    keptBytes: config.RESPONSE_BYTES_KEPT,
    onCertificate: (host, validity) => receiverCertificates.note(host, validity),
    route: proxy
      ? new ProxyRoute({ addressPolicy, emit, proxy, connectTimeoutMs })
      : new DirectRoute({
          addressPolicy,
          emit,
          resolveName: new NameCache(lookUpName, steadyClock).resolveName,
        }),
  });
}
