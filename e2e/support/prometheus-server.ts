import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findClosedPort } from '@hookferry/core/testing/local-server';
import { stringify } from 'yaml';
import { z } from 'zod';
import { until } from './until';

/** Which addresses (`host:port`) it scrapes, by job. */
export type ScrapeTargets = Readonly<Record<string, readonly string[]>>;

const querySchema = z.object({
  data: z.object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) }),
});
const alertsSchema = z.object({
  data: z.object({
    alerts: z.array(z.object({ labels: z.record(z.string(), z.string()), state: z.string() })),
  }),
});

/** A real Prometheus that evaluates every second, and scrapes every other: a response without Redis takes one. */
export class PrometheusServer {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    private readonly url: string,
  ) {}

  /** @param rules as in a rules file. */
  static async start(program: string, targets: ScrapeTargets, rules: object): Promise<PrometheusServer> {
    const folder = await mkdtemp(join(tmpdir(), 'webhooks-prometheus-'));
    await writeFile(join(folder, 'rules.yml'), stringify(rules));
    await writeFile(join(folder, 'prometheus.yml'), stringify(configOf(targets)));
    const address = `127.0.0.1:${await findClosedPort()}`;
    const child = spawn(
      program,
      [
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=${address}`,
        '--log.level=error',
      ],
      { stdio: 'ignore' },
    );
    const server = new PrometheusServer(child, folder, `http://${address}`);
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`Prometheus does not start: ${child.exitCode}.`);
      return (await server.#isReady()) ? true : undefined;
    });
    return server;
  }

  /** The values of an expression as of now: one for each series. */
  async query(expr: string): Promise<readonly number[]> {
    const { data } = querySchema.parse(await this.#get(`query?query=${encodeURIComponent(expr)}`));
    return data.result.map(({ value }) => Number(value[1]));
  }

  /** The names of the alerts that fire now. */
  async firing(): Promise<readonly string[]> {
    const { data } = alertsSchema.parse(await this.#get('alerts'));
    const firing = data.alerts.filter(({ state }) => state === 'firing');
    return [...new Set(firing.map(({ labels }) => labels.alertname ?? ''))];
  }

  async stop(): Promise<void> {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
    await rm(this.folder, { recursive: true, force: true });
  }

  async #isReady(): Promise<boolean> {
    return await fetch(`${this.url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  async #get(path: string): Promise<unknown> {
    const response = await fetch(`${this.url}/api/v1/${path}`);
    const body = await response.text();
    if (!response.ok) throw new Error(`Prometheus responded with ${response.status} to ${path}: ${body}`);
    return JSON.parse(body);
  }
}

function configOf(targets: ScrapeTargets): object {
  return {
    global: { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '1s' },
    rule_files: ['rules.yml'],
    scrape_configs: Object.entries(targets).map(([job, addresses]) => ({
      job_name: job,
      static_configs: [{ targets: addresses }],
    })),
  };
}
