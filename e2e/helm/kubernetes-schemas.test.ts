import { describeChart } from './chart-tools';
import { findSchemaFaults, findUnknownMembers } from './check-manifests';
import { findObject, renderChart } from './render-chart';
import { ALL, LEAST } from './sample-values';

const KINDS = [
  'Deployment',
  'HorizontalPodAutoscaler',
  'Ingress',
  'NetworkPolicy',
  'Pod',
  'PodDisruptionBudget',
  'PrometheusRule',
  'ScaledObject',
  'Secret',
  'Service',
  'ServiceAccount',
  'ServiceMonitor',
];

describeChart('what the Helm chart makes', (tools) => {
  const rendered = { least: renderChart(tools.helm, LEAST), all: renderChart(tools.helm, ALL) };

  it('is of every kind that the chart has', () => {
    const kinds = rendered.all.map(({ kind }) => kind).filter((kind) => kind !== 'ConfigMap');
    expect([...new Set(kinds)].toSorted()).toEqual(KINDS);
  });

  describe.each(['least', 'all'] as const)('of %s', (amount) => {
    it("is what Kubernetes', KEDA's and the Prometheus operator's schemas ask for", () => {
      expect(findSchemaFaults(tools, rendered[amount])).toEqual([]);
    });

    it('has no member that they do not know', () => {
      expect(findUnknownMembers(tools, rendered[amount])).toEqual([]);
    });
  });

  it('would be told of a wrong type, and of a name that is misspelled', () => {
    const autoscaler = findObject(rendered.all, 'HorizontalPodAutoscaler', 'hooks-hookferry-api');
    const budget = findObject(rendered.all, 'PodDisruptionBudget', 'hooks-hookferry-api');
    const wrong = { ...autoscaler, spec: { ...Object(autoscaler.spec), maxReplicas: 'ten' } };
    const misspelled = { ...budget, spec: { ...Object(budget.spec), maxUnavailble: 1 } };
    expect(findSchemaFaults(tools, [wrong])).toEqual([
      expect.stringContaining('/spec/maxReplicas must be integer'),
    ]);
    expect(findUnknownMembers(tools, [misspelled])).toEqual([expect.stringContaining('maxUnavailble')]);
  });
});
