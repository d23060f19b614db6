import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Stack } from '../support/stack';
import { provideToolchain, runWith, type Toolchain } from '../support/toolchain';
import { STRICT_COMPILER } from './consumer-project';
import { PROJECT, programOf } from './pack-package';
import { expectSuccess, findPythons, makeVenv, type Python, pipInstall, run } from './python-runtime';
import { MYPY } from './python-tools';
import { runWell } from './run-program';

const CLI = join(PROJECT, 'packages/cli/bin/hookferry.js');

const ADDRESS = {
  type: 'object',
  required: ['city'],
  properties: { city: { type: 'string' }, zip: { type: 'string' } },
};

/** Names and schemas that are not easy to write in one of the languages. */
const TYPES: Readonly<Record<string, { readonly schema: unknown; readonly example: unknown }>> = {
  'order.created': {
    schema: {
      type: 'object',
      required: ['id', 'items'],
      properties: {
        id: { type: 'string', description: 'The number */ of the """order"""' },
        total: { type: 'number' },
        currency: { enum: ['EUR', 'USD'] },
        coupon: { type: ['string', 'null'] },
        items: {
          type: 'array',
          items: { type: 'object', required: ['sku'], properties: { sku: { type: 'string' } } },
        },
        to: { $ref: '#/$defs/address' },
        from: { $ref: '#/$defs/address' },
        note: {},
        class: { type: 'string' },
        'gift-wrap': { type: 'boolean' },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        choice: { oneOf: [{ type: 'integer' }, { type: 'string' }] },
      },
      $defs: { address: ADDRESS },
    },
    example: { id: 'ord_1', items: [{ sku: 'a' }] },
  },
  'order.paid': {
    schema: { type: 'object', properties: { at: { type: 'string' } }, additionalProperties: false },
    example: {},
  },
  'order.count': { schema: { type: 'integer' }, example: 3 },
  'stock.anything': { schema: true, example: 'x' },
};

const USE_OF_TYPES = `
import { createClient } from '@hookferry/client';
import { createEventPublisher } from '@hookferry/producer';
import { webhooks } from '@hookferry/receiver/fetch';
import type { Events } from './events';

const client = createClient<Events>({ baseUrl: 'http://127.0.0.1:1', apiKey: 'whk_x' });
const order = { id: 'ord_1', items: [{ sku: 'a' }], coupon: null, 'gift-wrap': true, choice: 5 };
client.POST('/v1/events', { body: { type: 'order.created', data: order, deliver_at: '2030-01-01T00:00:00Z' } });
client.POST('/v1/events/batch', { body: { events: [{ type: 'order.count', data: 3 }, { type: 'order.created', data: order }] } });
client.POST('/v1/webhooks', { body: { url: 'https://example.com', events: ['order.*'] } });
// @ts-expect-error a member has another type
client.POST('/v1/events', { body: { type: 'order.created', data: { id: 1, items: [] } } });
// @ts-expect-error a member is missing
client.POST('/v1/events', { body: { type: 'order.created', data: { id: 'ord_1' } } });
// @ts-expect-error there is no such type
client.POST('/v1/events', { body: { type: 'order.craeted', data: order } });
// @ts-expect-error the data of another type
client.POST('/v1/events/batch', { body: { events: [{ type: 'order.count', data: order }] } });
// Without a map, everything can be published.
createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'whk_x' }).POST('/v1/events', { body: { type: 'any.thing', data: 1 } });

const publisher = createEventPublisher<Events>({ redisUrl: 'redis://127.0.0.1:1' });
publisher.publish({ type: 'order.count', data: 3 });
// @ts-expect-error the data of another type
publisher.publish({ type: 'order.count', data: order });

webhooks<Events>({
  secret: 'whsec_x',
  on: {
    'order.created': ({ data }) => data.items.map(({ sku }) => sku.length + (data.total ?? 0)),
    // @ts-expect-error there is no such type
    'order.craeted': () => undefined,
  },
});
`;

const USE_OF_PYTHON = `
from events import EventType, OrderCreated, OrderPaid

order: OrderCreated = {"id": "ord_1", "items": [{"sku": "a"}], "coupon": None, "gift-wrap": True, "class": "x"}
paid: OrderPaid = {}
name: EventType = "order.created"
print(order["items"][0]["sku"], paid.get("at"), name)
`;

const USE_OF_GO = `package main

import (
	"encoding/json"
	"fmt"

	"example/events"
)

func main() {
	var order events.OrderCreated
	text := \`{"id":"ord_1","items":[{"sku":"a"}],"coupon":null,"gift-wrap":true,"choice":5,"to":{"city":"Ulm"}}\`
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		panic(err)
	}
	fmt.Println(events.TypeOrderCreated, order.ID, order.Items[0].SKU, *order.GiftWrap, order.To.City, string(order.Choice))
}
`;

describe('types of the event types of an account', () => {
  const folder = mkdtempSync(join(tmpdir(), 'webhooks-types-'));
  let stack: Stack;
  beforeAll(async () => {
    stack = await Stack.start({ workers: 0 });
    for (const [name, { schema, example }] of Object.entries(TYPES)) {
      const type = { description: `${name} has happened.`, schema, example };
      const { status, body } = await stack.client.request('PUT', `/v1/event-types/${name}`, type);
      if (status > 201) throw new Error(JSON.stringify(body));
    }
  });
  afterAll(async () => {
    await stack.stop();
    await rm(folder, { recursive: true, force: true });
  });

  function generate(...flags: readonly string[]): string {
    const env = {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      HOOKFERRY_URL: stack.client.baseUrl,
      HOOKFERRY_API_KEY: stack.bootstrapKey,
    };
    return execFileSync(process.execPath, [CLI, 'types', 'generate', ...flags], { env, encoding: 'utf8' });
  }

  it('are a map that client, producer and receiver take, in TypeScript', async () => {
    symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
    expect(generate('--lang', 'ts', '-o', join(folder, 'events.ts'))).toContain('Wrote 4 types to ');
    writeFileSync(join(folder, 'use.ts'), USE_OF_TYPES);
    const compilerOptions = {
      ...STRICT_COMPILER,
      skipLibCheck: true,
      noEmit: true,
      module: 'esnext',
      moduleResolution: 'bundler',
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }));
    await runWell(programOf('tsc'), ['-p', '.'], folder);
  });

  it('leave out built-in types unless they are asked for', () => {
    expect(generate('--lang', 'ts')).not.toContain('delivery.exhausted');
    expect(generate('--lang', 'ts', '--all')).toContain('"delivery.exhausted": {');
  });

  const [python] = findPythons();
  const checkPython = python ? it : it.skip;
  checkPython('are typed dictionaries, in Python', () => {
    if (python) expectDictionaries(python, folder, generate('--lang', 'python'));
  });

  const go = provideToolchain('go');
  if ('refusal' in go) console.warn(`SKIPPED: generated types in Go: ${go.refusal}`);
  const checkGo = 'program' in go ? it : it.skip;
  checkGo('are structs, as gofmt writes them, in Go', () => {
    if ('program' in go) expectStructs(go.program, join(folder, 'go'), generate('--lang', 'go'));
  });
});

function expectDictionaries(python: Python, folder: string, text: string): void {
  writeFileSync(join(folder, 'events.py'), text);
  writeFileSync(join(folder, 'use.py'), USE_OF_PYTHON);
  for (const { command } of findPythons()) {
    const { status, output } = run(command, [join(folder, 'use.py')]);
    expect({ status, output }).toEqual({ status: 0, output: 'a None order.created\n' });
  }
  const program = makeVenv(python, join(folder, 'tools'));
  if (!pipInstall(program, [MYPY])) {
    console.warn(`SKIPPED: the types of generated Python, because ${MYPY} can't be had here.`);
    return;
  }
  const options = ['-m', 'mypy', '--strict', '--cache-dir', join(folder, 'mypy')];
  expectSuccess(run(program, [...options, 'use.py'], { cwd: folder }));
  const wrong = 'from events import OrderCreated\n\norder: OrderCreated = {"id": 1, "items": []}\n';
  writeFileSync(join(folder, 'wrong.py'), wrong);
  expect(run(program, [...options, 'wrong.py'], { cwd: folder }).output).toContain('Found 1 error');
}

function expectStructs(go: Toolchain, folder: string, text: string): void {
  mkdirSync(join(folder, 'events'), { recursive: true });
  const files = { 'go.mod': 'module example\n\ngo 1.18\n', 'main.go': USE_OF_GO, 'events/events.go': text };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  expect(runWith(go, ['gofmt', '-l', '-d', 'events'], folder)).toBe('');
  runWith(go, ['go', 'vet', './...'], folder);
  expect(runWith(go, ['go', 'run', '.'], folder)).toBe('order.created ord_1 a true Ulm 5\n');
}
