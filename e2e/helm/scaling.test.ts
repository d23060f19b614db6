import { workerMetrics } from '@hookferry/core/telemetry/prom-registry';
import { describeChart } from './chart-tools';
import { findObject, renderChart, valueAt } from './render-chart';
import { ALL, LEAST } from './sample-values';

describeChart('the autoscalers of the Helm chart', ({ helm }) => {
  const least = renderChart(helm, LEAST);
  const all = renderChart(helm, ALL);

  it('scales the API by CPU', () => {
    expect(findObject(least, 'HorizontalPodAutoscaler', 'hooks-hookferry-api').spec).toMatchObject({
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'hooks-hookferry-api' },
      minReplicas: 2,
      maxReplicas: 10,
      metrics: [{ resource: { name: 'cpu', target: { averageUtilization: 70 } } }],
    });
    expect(valueAt(findObject(least, 'Deployment', 'hooks-hookferry-api'), 'spec.replicas')).toBeUndefined();
  });

  it('scales workers by the age of the oldest job and by how many wait, of this release', () => {
    const ours = 'queue=~"events|deliveries",namespace="shop",service="hooks-hookferry-worker"';
    expect(findObject(all, 'ScaledObject', 'hooks-hookferry-worker').spec).toMatchObject({
      scaleTargetRef: { name: 'hooks-hookferry-worker' },
      triggers: [
        {
          metricType: 'Value',
          metadata: { query: `max(webhooks_queue_oldest_waiting_seconds{${ours}})`, threshold: '5' },
        },
        {
          metricType: 'AverageValue',
          metadata: {
            query: `sum(max by (queue) (webhooks_queue_jobs{${ours},state="wait"}))`,
            threshold: '1000',
          },
        },
      ],
    });
    expect(valueAt(findObject(all, 'Deployment', 'hooks-hookferry-worker'), 'spec.replicas')).toBeUndefined();
  });

  it('asks for metrics that workers serve', () => {
    const { spec } = findObject(all, 'ScaledObject', 'hooks-hookferry-worker');
    const asked = JSON.stringify(spec).match(/webhooks_\w+/g) ?? [];
    const served = workerMetrics.map(({ name }) => name);
    expect(asked.filter((name) => !served.includes(name))).toEqual([]);
    expect(asked).toHaveLength(2);
  });

  it('scales nothing down while nobody knows how much waits', () => {
    const { triggers } = findObject(all, 'ScaledObject', 'hooks-hookferry-worker').spec as {
      triggers: { metadata: Record<string, string> }[];
    };
    expect(triggers.map(({ metadata }) => metadata.ignoreNullValues)).toEqual(['false', 'false']);
  });

  it('asks for metrics by the labels that they have', () => {
    const metricLabels = { namespace: null, service: null, cluster: 'a' };
    const values = { ...LEAST, worker: { autoscaling: { enabled: true, metricLabels } } };
    const scaledObject = findObject(renderChart(helm, values), 'ScaledObject', 'hooks-hookferry-worker');
    expect(valueAt(scaledObject, 'spec.triggers.1.metadata.query')).toBe(
      'sum(max by (queue) (webhooks_queue_jobs{queue=~"events|deliveries",cluster="a",state="wait"}))',
    );
  });

  it('has as many of each as it is told to without autoscalers', () => {
    const fixed = renderChart(helm, {
      ...LEAST,
      api: { replicas: 3, autoscaling: { enabled: false } },
      worker: { replicas: 5 },
    });
    expect(fixed.map(({ kind }) => kind)).not.toContain('HorizontalPodAutoscaler');
    expect(valueAt(findObject(fixed, 'Deployment', 'hooks-hookferry-api'), 'spec.replicas')).toBe(3);
    expect(valueAt(findObject(fixed, 'Deployment', 'hooks-hookferry-worker'), 'spec.replicas')).toBe(5);
  });
});
