import type { Values } from './render-chart';

const REDIS = [{ podSelector: { matchLabels: { app: 'redis' } } }];

/** As little as the chart takes. */
export const LEAST: Values = {
  secrets: { existingSecret: 'hookferry-secrets' },
  networkPolicy: { redis: { to: REDIS } },
};

/** Everything that can be switched on. */
export const ALL: Values = {
  image: { prefix: 'registry.example.com/team/', tag: '1.2.3', pullSecrets: [{ name: 'registry' }] },
  secrets: {
    values: {
      redisUrl: 'rediss://user:hidden-password@redis:6379',
      secretsEncryptionKey: 'hidden-encryption-key',
      bootstrapApiKey: 'hidden-api-key',
      historyDatabaseUrl: 'postgresql://hidden-history@postgres/webhooks',
      otelExporterOtlpHeaders: 'api-key=hidden-collector-key',
      smtpUrl: 'smtps://hidden-sender@mail.shop.svc:465',
    },
  },
  settings: { LOG_LEVEL: 'warn', NODE_EXTRA_CA_CERTS: '/etc/authority/ca.crt' },
  extraVolumes: [{ name: 'authority', configMap: { name: 'company-authority' } }],
  extraVolumeMounts: [{ name: 'authority', mountPath: '/etc/authority', readOnly: true }],
  allowedCidrs: ['10.1.0.0/16'],
  tracing: { endpoint: 'http://otel-collector.monitoring.svc:4318', traceparentToReceivers: true },
  serviceAccount: { annotations: { 'example.com/role': 'webhooks' } },
  api: {
    settings: { TRUST_PROXY: 1 },
    portal: { frameAncestors: ['https://app.example.com', 'https://other.example.com'] },
    ingress: {
      enabled: true,
      className: 'nginx',
      host: 'webhooks.example.com',
      tlsSecret: 'hookferry-tls',
      annotations: { 'example.com/body': '300k' },
    },
    service: { annotations: { 'example.com/service': 'yes' } },
    podAnnotations: { 'example.com/team': 'shop' },
    nodeSelector: { 'kubernetes.io/arch': 'amd64' },
    tolerations: [{ key: 'spot', operator: 'Exists', effect: 'NoSchedule' }],
    affinity: { podAntiAffinity: {} },
    priorityClassName: 'high',
  },
  worker: {
    settings: { WORKER_CONCURRENCY: 64, HISTORY_MOVE_AFTER: '5m', HISTORY_RETENTION: '30d' },
    autoscaling: { enabled: true, authenticationRef: 'prometheus' },
  },
  networkPolicy: {
    redis: { to: REDIS },
    postgres: { to: [{ ipBlock: { cidr: '10.9.0.7/32' } }] },
    smtp: { to: [{ podSelector: { matchLabels: { app: 'mail' } } }], ports: [465] },
    tracing: { to: [{ podSelector: { matchLabels: { app: 'otel-collector' } } }] },
    apiFrom: [{ podSelector: { matchLabels: { app: 'shop' } } }],
  },
  metrics: {
    labels: { release: 'monitoring' },
    serviceMonitor: { enabled: true },
    prometheusRule: { enabled: true },
    dashboards: { enabled: true },
  },
};
