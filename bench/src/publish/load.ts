import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';

export interface LoadOptions {
  readonly url: string;
  readonly requests: number;
  readonly connections: number;
  readonly apiKey: string;
  /** Whether each request has a key of its own. */
  readonly hasIdempotencyKeys: boolean;
}

const BODY = JSON.stringify({
  type: 'keyword.quick_win',
  data: { keyword: 'red shoes', position: 3, volume: 2400 },
});

/** Publishes events over kept-alive connections, each with one request after the other. All have to be accepted. */
export async function publishMany(options: LoadOptions): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.connections });
  let started = 0;
  const connection = async (): Promise<void> => {
    while (started < options.requests) {
      started += 1;
      await publish(agent, options);
    }
  };
  await Promise.all(Array.from({ length: options.connections }, connection));
  agent.destroy();
}

function publish(agent: Agent, { url, apiKey, hasIdempotencyKeys }: LoadOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/v1/events`, { agent, method: 'POST', headers: headersOf() }, (response) => {
      response.resume();
      response.on('end', () => {
        if (response.statusCode === 202) resolve();
        else reject(new Error(`The API answered ${response.statusCode}.`));
      });
    });
    sent.on('error', reject);
    sent.end(BODY);
  });

  function headersOf() {
    return {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(BODY),
      ...(hasIdempotencyKeys ? { 'idempotency-key': randomBytes(12).toString('hex') } : {}),
    };
  }
}
