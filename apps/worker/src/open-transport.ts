import { AddressPolicy } from '@hookferry/core/deliver/egress/address-policy';
import { lookUpName, NameCache } from '@hookferry/core/deliver/egress/resolve-name';
import { DirectRoute, ProxyRoute } from '@hookferry/core/deliver/egress/routes';
import { GotTransport } from '@hookferry/core/deliver/got-transport';
import type { Emit } from '@hookferry/core/domain/signal';
import type { Transport } from '@hookferry/core/domain/transport';
import type { ReceiverCertificates } from '@hookferry/core/endpoints/tls/redis-receiver-certificates';
import { HandOver } from '@hookferry/core/listeners/hand-over';
import { ListenerStore } from '@hookferry/core/listeners/redis-listener-store';
import { MAILBOX_SILENCE_MS, RedisMailbox } from '@hookferry/core/listeners/redis-mailbox';
import { steadyClock } from '@hookferry/core/platform/clock';
import { type ConnectOptions, connectRedis, type RedisClient } from '@hookferry/core/platform/redis-connect';
import type { WorkerConfig } from './config';

interface TransportContext {
  readonly config: WorkerConfig;
  readonly redis: RedisClient;
  readonly connection: Omit<ConnectOptions, 'name'>;
  readonly receiverCertificates: Pick<ReceiverCertificates, 'note'>;
  readonly emit: Emit;
}

/** Open the transport of deliveries: to receivers, or to connected listeners. */
export function openTransport(context: TransportContext) {
  const toReceivers = openGot(context);
  const { handOver, mailbox } = openHandOver(context);
  const send: Transport = (request, abortSignal) =>
    request.listener === undefined
      ? toReceivers.send(request, abortSignal)
      : handOver.send(request, abortSignal);
  return {
    send,
    async close(): Promise<void> {
      toReceivers.close();
      await mailbox.close();
    },
  };
}

function openHandOver({ config, redis, connection, emit }: TransportContext) {
  const mailbox = new RedisMailbox({
    redis,
    connect: () => connectRedis({ ...connection, name: 'worker-mailbox', silenceMs: MAILBOX_SILENCE_MS }),
    emit,
  });
  const handOver = new HandOver({
    listenerStore: new ListenerStore(redis),
    mailbox,
    timeoutMs: config.DELIVERY_TIMEOUT,
    keptBytes: config.RESPONSE_BYTES_KEPT,
  });
  return { handOver, mailbox };
}

/** To allowed addresses only, directly or through the proxy. */
function openGot({ config, receiverCertificates, emit }: TransportContext): GotTransport {
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
