import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { catalogue } from '@hookferry/core/accounts/event-types/built-in';
import { routes } from '../routes/index';
import { pointerTo } from '../testing/check-response';
import { createDescriptionAjv, DESCRIPTION } from '../testing/description-ajv';
import { type RouteCase, routeCases } from '../testing/route-cases';
import { describeApi } from './document';
import { answerExamples, templateOf } from './operation';

const ROOT = resolve(__dirname, '../../../..');
const FILE = resolve(ROOT, 'docs/openapi.json');
const RULES = resolve(ROOT, 'tools/api-rules/redocly.yaml');

/** The description, or any node of it. */
type Description = ReturnType<typeof JSON.parse>;

const description = describeApi(routes);

function validatorOf(...operation: string[]) {
  const place = [...operation, 'requestBody', 'content'];
  const type = operation.includes('patch') ? 'application/merge-patch+json' : 'application/json';
  const validate = createDescriptionAjv(description).getSchema(
    DESCRIPTION + pointerTo([...place, type, 'schema']),
  );
  if (validate === undefined) throw new Error(`There is no ${operation.join(' ')}`);
  return validate;
}

const withBody = routeCases
  .filter(({ body }) => body !== undefined)
  .map((route) => [`${route.method} ${route.path}`, route] as const);

const redocly = resolve(ROOT, 'node_modules/.bin/redocly');
const environment = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
const lint = (file: string, ...flags: string[]) =>
  promisify(execFile)(redocly, ['lint', '--config', RULES, ...flags, file], {
    cwd: ROOT,
    env: environment,
  });

it('is what Redocly takes for good, by its own rules and those of docs/api.md; if an example is old, run: npm run generate', async () => {
  // It ends with another code than 0, which rejects, when it finds an error.
  const { stdout, stderr } = await lint(FILE);
  expect(stderr).toContain('Your API description is valid');
  expect(/\d+ warning/.test(stderr) ? stdout : '').toBe('');
});

it('is refused where it breaks a rule of docs/api.md', async () => {
  const broken: Description = JSON.parse(JSON.stringify(description));
  const { schemas } = broken.components;
  schemas.Replay.properties.retryCount = { type: 'integer' };
  schemas.Replay.properties.ended = { type: 'string', format: 'date-time' };
  schemas.Replay.properties.delay = { type: 'integer' };
  schemas.Replay.properties.account = { type: 'string' };
  schemas.Replay.properties.mode = { enum: ['Everything'] };
  schemas.ReplayPage.required = ['data'];
  broken.paths['/v1/contacts'].post.responses = { 200: broken.paths['/v1/contacts'].post.responses[201] };
  const folder = await mkdtemp(join(tmpdir(), 'description-'));
  const file = join(folder, 'openapi.json');
  await writeFile(file, JSON.stringify(broken));
  const { stdout } = await lint(file, '--format=json', '--max-problems=100').catch(
    (error: { readonly stdout: string }) => error,
  );
  await rm(folder, { recursive: true });
  const { problems } = JSON.parse(stdout) as { problems: { ruleId: string }[] };
  const own = problems.map(({ ruleId }) => ruleId).filter((id) => id.startsWith('hookferry/'));
  expect([...new Set(own)].toSorted()).toEqual([
    'hookferry/durations-name-their-unit',
    'hookferry/lists-are-alike',
    'hookferry/names-in-snake-case',
    'hookferry/references-say-of-what',
    'hookferry/responses-have-all-members',
    'hookferry/statuses-say-what-happened',
    'hookferry/times-end-in-at',
    'hookferry/values-in-snake-case',
  ]);
});

interface Described {
  readonly name: string;
  readonly place: string;
  readonly description: string | undefined;
}

/** All members and parameters. */
const described: readonly Described[] = (function look(node: unknown, place: string): Described[] {
  if (typeof node !== 'object' || node === null) return [];
  const { properties = {}, in: kind, name, description: own } = node as Readonly<Record<string, unknown>>;
  const members = Object.entries(properties as Readonly<Record<string, { description?: string }>>);
  return [
    ...(typeof kind === 'string'
      ? [{ name: String(name), place, description: own as string | undefined }]
      : []),
    ...members.map(([member, value]) => ({ name: member, place, description: value.description })),
    ...Object.entries(node).flatMap(([member, value]) =>
      member === 'example' ? [] : look(value, `${place}/${member}`),
    ),
  ];
})(describeApi(routes), '');

it('says what each member and each parameter means', () => {
  const without = described.filter(({ description: text }) => !text);
  expect(without.map(({ name, place }) => `${place}, ${name}`)).toEqual([]);
});

// `id` of one schema is `account_id` in another.
const kindOf = (name: string) => name.replace(/^.+_id$/, 'id');

it('says the same of members of one name only, in whole sentences', () => {
  const names = new Map<string, Set<string>>();
  for (const { name, description: text = '' } of described)
    names.set(text, (names.get(text) ?? new Set()).add(kindOf(name)));
  const shared = [...names]
    .filter(([, of]) => of.size > 1)
    .map(([text, of]) => `${[...of].join(', ')}: ${text}`);
  expect(shared).toEqual([]);
  expect([...names.keys()].filter((text) => !/^[A-Z`0-9].*\.$/s.test(text))).toEqual([]);
});

it('has an example of every request body and every answer; if this fails, run: npm run generate', () => {
  const without = routes.flatMap(({ operationId, request, responses }) => [
    ...(request.body !== undefined && request.example === undefined ? [operationId] : []),
    ...Object.entries(responses)
      .filter(([status, { schema }]) => schema !== undefined && !answerExamples[operationId]?.[status])
      .map(() => operationId),
  ]);
  expect(without).toEqual([]);
});

it('gives each operation a name of its own', () => {
  const names = routes.map(({ operationId }) => operationId);
  expect(new Set(names).size).toBe(names.length);
});

it.each(withBody)(
  'describes the body of %s: a good one fits, one with an unknown member does not',
  (_name, route: RouteCase) => {
    const validate = validatorOf('paths', templateOf({ path: route.path as `/v1/${string}` }), route.method);
    expect(validate(route.body)).toBe(true);
    expect(validate({ ...route.body, colour: 'red' })).toBe(false);
  },
);

it.each(catalogue.map(({ name, example }) => [name, example] as const))(
  'describes what receivers of %s get',
  (type, data) => {
    const validate = validatorOf('webhooks', type, 'post');
    expect(validate({ type, data })).toBe(true);
    expect(validate({ type, data: { ...data, colour: 'red' } })).toBe(false);
    expect(validate({ type: 'other', data })).toBe(false);
  },
);
