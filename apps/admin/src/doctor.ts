import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { lookUpName, NameCache } from '@hookferry/core/deliver/egress/resolve-name';
import {
  DeliveryHttpAgent,
  DeliveryHttpsAgent,
  DirectRoute,
  IdleSockets,
  ProxyRoute,
  type Route,
} from '@hookferry/core/deliver/egress/routes';
import { isWithin, parseAddress, parseKnownRange } from '@hookferry/core/domain/address-ranges';
import { steadyClock } from '@hookferry/core/platform/clock';
import type { Command } from 'commander';
import { z } from 'zod';
import { type Cli, Failure, jsonOption, jsonSchema, parseFlags, UsageError } from './cli';
import type { EgressConfig } from './config';
import { formatJson, formatTable } from './format';

const flagsSchema = z.object({
  echo: z.url({ protocol: /^https?$/, error: 'must be an http: or https: URL' }),
  json: jsonSchema,
});

/** The result of a check. */
interface Finding {
  readonly check: string;
  readonly state: 'good' | 'doubtful' | 'bad';
  readonly detail: string;
}

export function addDoctor(program: Command, { output, egress }: Cli): void {
  program
    .command('doctor')
    .description(
      'Compare SOURCE_ADDRESSES with the real source addresses of requests. Run it where a worker runs.',
    )
    .requiredOption('--echo <url>', 'a page of yours that responds with the address of its client')
    .addOption(jsonOption())
    .action(async (given: unknown) => {
      const { echo, json } = parseFlags(flagsSchema, given);
      const { SOURCE_ADDRESSES: ranges, DELIVERY_PROXY_URL: proxy } = egress();
      if (ranges.length === 0) throw new UsageError('SOURCE_ADDRESSES must be set, as it is for the API.');
      const findings = await examine(echo, ranges, proxy);
      const isGood = findings.every(({ state }) => state !== 'bad');
      output.out(json ? formatJson({ is_good: isGood, findings }) : tableOf(findings));
      if (!isGood)
        throw new Failure('Receivers that let only SOURCE_ADDRESSES in refuse deliveries from here.');
    });
}

function tableOf(findings: readonly Finding[]): string {
  return formatTable(
    ['CHECK', 'STATE', 'DETAIL'],
    findings.map(({ check, state, detail }) => [check, state, detail]),
  );
}

type Proxy = EgressConfig['DELIVERY_PROXY_URL'];

/** By the way of deliveries: through the proxy, or directly by each family of addresses. */
async function examine(echo: string, ranges: readonly string[], proxy: Proxy): Promise<readonly Finding[]> {
  const route = routeOf(proxy);
  if (proxy) return [await look({ check: 'by the proxy', echo, ranges, route })];
  const found = await Promise.all(
    ([4, 6] as const).map((family) => look({ check: `IPv${family}`, echo, ranges, route, family })),
  );
  // One way out is enough; none at all means that nothing was compared.
  if (found.some(({ state }) => state !== 'doubtful')) return found;
  return found.map((finding) => ({ ...finding, state: 'bad' }));
}

const CONNECT_TIMEOUT_MS = 5_000;

function routeOf(proxy: Proxy): Route {
  // The operator names the echo, so it may be anywhere.
  const addressPolicy = { classify: () => ({ allowed: true }) as const };
  const context = { addressPolicy, emit: () => {} };
  if (proxy) return new ProxyRoute({ ...context, proxy, connectTimeoutMs: CONNECT_TIMEOUT_MS });
  const { resolveName } = new NameCache(lookUpName, steadyClock);
  return new DirectRoute({ ...context, resolveName });
}

interface Look {
  readonly check: string;
  readonly echo: string;
  readonly ranges: readonly string[];
  readonly route: Route;
  readonly family?: 4 | 6;
}

async function look({ check, echo, ranges, route, family }: Look): Promise<Finding> {
  let seen: readonly string[];
  try {
    seen = addressesIn(await ask(echo, route, family));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { check, state: 'doubtful', detail: `the page cannot be read: ${code ?? message}` };
  }
  const [address] = seen;
  if (address === undefined) return { check, state: 'bad', detail: "the page's response has no address" };
  if (seen.length > 1) {
    return { check, state: 'bad', detail: `the page's response has several addresses: ${seen.join(', ')}` };
  }
  const range = ranges.find((one) => isIn(address, one));
  if (range !== undefined) return { check, state: 'good', detail: `${address} is in ${range}` };
  return { check, state: 'bad', detail: `${address} is in none of SOURCE_ADDRESSES` };
}

function isIn(text: string, range: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && isWithin(address, parseKnownRange(range));
}

const MAX_BYTES = 16 * 1024;
const TIMEOUT_MS = 10_000;

function ask(echo: string, route: Route, family: 4 | 6 | undefined): Promise<string> {
  const isSecure = echo.startsWith('https:');
  const Agent = isSecure ? DeliveryHttpsAgent : DeliveryHttpAgent;
  const agent = new Agent(route, new IdleSockets(1), { keepAlive: false });
  const options = {
    agent,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: { 'user-agent': 'hookferry-admin', accept: 'application/json, text/plain' },
    ...(family === undefined ? {} : { family }),
  };
  return new Promise((resolve, reject) => {
    const request = (isSecure ? requestHttps : requestHttp)(echo, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('error', reject);
      response.on('data', (part: string) => {
        text += part;
        if (text.length > MAX_BYTES) response.destroy(new Error('its response is longer than an address'));
      });
      response.on('end', () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`it responded with the status ${response.statusCode}`));
      });
    });
    request.on('error', reject).end();
  });
}

/** The addresses in a text or in JSON, each once. A mapped IPv4 address is that address. */
function addressesIn(text: string): readonly string[] {
  const found = text.match(/[0-9A-Fa-f:.]+/g) ?? [];
  const addresses = found.flatMap((one) => {
    const address = parseAddress(one.replace(/^::ffff:(?=\d+\.)/i, ''));
    return address === undefined ? [] : [address.toString()];
  });
  return [...new Set(addresses)];
}
