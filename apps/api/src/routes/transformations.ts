import { endpointRefSchema } from '@hookferry/core/domain/endpoint';
import { EVENT_TYPE_NAME_FORM, eventIdSchema } from '@hookferry/core/domain/event';
import type { SavedVersion } from '@hookferry/core/endpoints/redis-transformation-store';
import type { TryTransformationSource } from '@hookferry/core/history/trials';
import { formatTime, timeSchema } from '@hookferry/core/platform/clock';
import type { TransformResult } from '@hookferry/core/transform/run-transformation';
import { transformationTemplates } from '@hookferry/core/transform/templates';
import { codeSchema, type Transformation } from '@hookferry/core/transform/transformations';
import { z } from 'zod';
import { requireScope } from '../http/authenticate';
import { pageOf, presentPage } from '../http/page';
import { defineRoute } from '../http/route';

const webhookParams = z.object({ id: endpointRefSchema });
const versionParams = z.object({
  id: endpointRefSchema,
  version: z.coerce.number().int().min(1).describe('The number of the version, from 1.'),
});

const EXAMPLE =
  'export default function (event) {\n  return { body: { text: `${event.type}: ${event.data.id}` } };\n}\n';

const newTransformationSchema = z
  .strictObject({
    code: codeSchema.describe(
      'JavaScript: a module whose default export is a function of the event. At most 65,536 characters.',
    ),
    enabled: z.boolean().default(true).describe('Whether deliveries use it. Default: `true`.'),
  })
  .meta({ id: 'NewTransformation' });

const versionShape = {
  version: z
    .int()
    .min(1)
    .describe('The number of the version, from 1. Each change of the code makes a new one.'),
  code: z.string().describe('The code of the version, in JavaScript.'),
  saved_at: timeSchema.describe('When the version was saved.'),
  saved_by: z.string().describe('The id of the API key or the portal session that saved it.'),
  saved_by_name: z
    .string()
    .nullable()
    .describe(
      'The name of that API key, or the label of that portal session, as it was then. Null: it had none, or it is a key of the operator.',
    ),
};
const versionSchema = z.object(versionShape).meta({ id: 'TransformationVersion' });
const transformationSchema = z
  .object({
    webhook_id: z.string().describe('The webhook that the transformation belongs to.'),
    enabled: z.boolean().describe('Whether deliveries use it.'),
    ...versionShape,
  })
  .meta({ id: 'Transformation' });

function presentVersion({ version, code, savedAt, savedBy, savedByName }: SavedVersion) {
  const by = { saved_by: savedBy, saved_by_name: savedByName ?? null };
  return { version, code, saved_at: formatTime(savedAt), ...by };
}

function present(transformation: Transformation): z.infer<typeof transformationSchema> {
  const { endpointId, isEnabled } = transformation;
  return { webhook_id: endpointId, enabled: isEnabled, ...presentVersion(transformation) };
}

const current = { 200: { description: 'The transformation as it is now.', schema: transformationSchema } };

export const putWebhookTransformation = defineRoute({
  operationId: 'putTransformation',
  summary: "Set a webhook's transformation",
  method: 'put',
  path: '/v1/webhooks/:id/transformation',
  scope: 'webhooks:write',
  capability: 'transform',
  audit: 'webhook.put_transformation',
  request: {
    params: webhookParams,
    body: newTransformationSchema,
    example: { code: EXAMPLE, enabled: true },
  },
  stores: 'other',
  responses: {
    200: { description: 'The transformation was replaced.', schema: transformationSchema },
    201: { description: 'The webhook had no transformation before.', schema: transformationSchema },
  },
  async handle({ apiKey, params, body, act }, core) {
    const { code, enabled: isEnabled } = body;
    const by = { savedBy: apiKey.id, act };
    const put = await core.transformations.put(apiKey.accountId, params.id, { code, isEnabled }, by);
    return { status: put.isFirst ? 201 : 200, body: present(put) };
  },
});

export const readWebhookTransformation = defineRoute({
  operationId: 'readTransformation',
  summary: "Read a webhook's transformation",
  method: 'get',
  path: '/v1/webhooks/:id/transformation',
  scope: 'webhooks:read',
  request: { params: webhookParams },
  responses: current,
  async handle({ apiKey, params }, core) {
    return { status: 200, body: present(await core.transformations.read(apiKey.accountId, params.id)) };
  },
});

export const deleteWebhookTransformation = defineRoute({
  operationId: 'deleteTransformation',
  summary: "Remove a webhook's transformation",
  method: 'delete',
  path: '/v1/webhooks/:id/transformation',
  scope: 'webhooks:write',
  capability: 'transform',
  audit: 'webhook.delete_transformation',
  request: { params: webhookParams },
  responses: {
    204: {
      description: 'The transformation is removed: the webhook gets events unchanged. The versions stay.',
    },
  },
  async handle({ apiKey, params, act }, core) {
    await core.transformations.remove(apiKey.accountId, params.id, act);
    return { status: 204 };
  },
});

export const listTransformationVersions = defineRoute({
  operationId: 'listTransformationVersions',
  summary: "List the versions of a webhook's transformation",
  method: 'get',
  path: '/v1/webhooks/:id/transformation/versions',
  scope: 'webhooks:read',
  request: { params: webhookParams },
  responses: {
    200: {
      description: 'The latest 20 versions, newest first.',
      schema: pageOf(versionSchema, 'TransformationVersionPage'),
    },
  },
  async handle({ apiKey, params }, core) {
    const versions = await core.transformations.listVersions(apiKey.accountId, params.id);
    return { status: 200, body: presentPage(versions.map(presentVersion), undefined) };
  },
});

export const restoreTransformationVersion = defineRoute({
  operationId: 'restoreTransformationVersion',
  summary: 'Restore an earlier version of a transformation',
  method: 'post',
  path: '/v1/webhooks/:id/transformation/versions/:version/restore',
  scope: 'webhooks:write',
  capability: 'transform',
  audit: 'webhook.restore_transformation',
  request: { params: versionParams },
  stores: 'other',
  responses: current,
  async handle({ apiKey, params, act }, core) {
    const by = { savedBy: apiKey.id, act };
    const restored = await core.transformations.restoreVersion(
      apiKey.accountId,
      params.id,
      params.version,
      by,
    );
    return { status: 200, body: present(restored) };
  },
});

const givenEventSchema = z
  .strictObject({
    type: z.string().min(1).describe('The type of the event: any text.'),
    data: z.unknown().describe('The payload of the event: any JSON.'),
  })
  .meta({ id: 'TransformationEvent' });

const sourceShape = {
  event: givenEventSchema.optional().describe('Try it on this event, which need not be published.'),
  event_id: eventIdSchema.optional().describe('Try it on this published event.'),
  event_type: z
    .string()
    .meta(EVENT_TYPE_NAME_FORM)
    .optional()
    .describe('Try it on the example of this event type.'),
};

const WAYS = ['event', 'event_id', 'event_type'] as const;

function requireOneSource(body: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void {
  const [first, ...others] = WAYS.filter((way) => body[way] !== undefined);
  if (first === undefined) {
    context.addIssue({
      code: 'custom',
      path: ['event_type'],
      message: 'is required, unless "event" or "event_id" is given',
    });
  }
  for (const member of others) {
    context.addIssue({
      code: 'custom',
      path: [member],
      message: `cannot be given together with "${first}"`,
    });
  }
}

const newTrialSchema = z
  .strictObject({ code: codeSchema.describe('The code to try.'), ...sourceShape })
  .superRefine(requireOneSource)
  .meta({ id: 'NewTransformationTrial' });
const trialSchema = z
  .strictObject({
    code: codeSchema.optional().describe("The code to try. Default: the webhook's own."),
    ...sourceShape,
  })
  .superRefine(requireOneSource)
  .meta({ id: 'TransformationTrial' });

const triedSchema = z
  .object({
    outcome: z
      .enum(['made', 'cancelled', 'failed'])
      .describe(
        '`made`: the code returned a body to send. `cancelled`: the code returned that nothing is sent. `failed`: the code failed, see `error`.',
      ),
    body: z.string().nullable().describe('The body that would be sent. Null: none would be.'),
    headers: z
      .record(z.string(), z.string())
      .nullable()
      .describe('The headers that would be added. Null: nothing would be sent.'),
    error: z
      .object({
        message: z.string().describe('The message of the error.'),
        line: z.int().nullable().describe('The line of the error, from 1. Null: it is not known.'),
        column: z.int().nullable().describe('The column of the error, from 1. Null: it is not known.'),
      })
      .nullable()
      .describe('The error of the code. Null: it did not fail.'),
    logs: z
      .array(z.string())
      .readonly()
      .describe('The lines that it printed with `console.log`: at most 4 KB.'),
    duration_ms: z.number().min(0).describe('How many milliseconds of processor time it took.'),
  })
  .meta({ id: 'TransformationTried' });

const tried = { 200: { description: 'The result. Nothing is sent.', schema: triedSchema } };

/** Try the code that a webhook has, or is to have. */
export const tryWebhookTransformation = defineRoute({
  operationId: 'tryTransformation',
  summary: "Try a webhook's transformation on an event",
  method: 'post',
  path: '/v1/webhooks/:id/transformation/try',
  scope: 'webhooks:read',
  audit: { notAudited: 'It changes nothing.' },
  request: {
    params: webhookParams,
    body: trialSchema,
    hasEventData: true,
    example: { code: EXAMPLE, event_type: 'order.created' },
  },
  responses: tried,
  problems: ['history_unavailable'],
  async handle({ apiKey, params, body }, core) {
    const source = sourceOf(body);
    // The response shows parts of the event.
    if (source.kind === 'event') requireScope(apiKey, 'deliveries:read');
    const { accountId } = apiKey;
    const endpoint = await core.endpoints.read(accountId, params.id);
    const code = body.code ?? (await core.transformations.read(accountId, params.id)).code;
    const result = await core.trials.runCode(accountId, { code, source, endpoint });
    return { status: 200, body: presentTried(result) };
  },
});

/** Try code that no webhook has yet. */
export const tryNewTransformation = defineRoute({
  operationId: 'tryNewTransformation',
  summary: 'Try the code of a transformation on an event',
  method: 'post',
  path: '/v1/transformations/try',
  scope: 'webhooks:read',
  audit: { notAudited: 'It changes nothing.' },
  request: {
    body: newTrialSchema,
    hasEventData: true,
    example: { code: EXAMPLE, event_type: 'order.created' },
  },
  responses: tried,
  problems: ['history_unavailable'],
  async handle({ apiKey, body }, context) {
    const source = sourceOf(body);
    if (source.kind === 'event') requireScope(apiKey, 'deliveries:read');
    const result = await context.trials.runCode(apiKey.accountId, { code: body.code, source });
    return { status: 200, body: presentTried(result) };
  },
});

function sourceOf({
  event,
  event_id: id,
  event_type: type,
}: Pick<z.infer<typeof newTrialSchema>, (typeof WAYS)[number]>): TryTransformationSource {
  if (event !== undefined) return { kind: 'given', type: event.type, data: event.data };
  if (id !== undefined) return { kind: 'event', id };
  return { kind: 'example', type: type ?? '' };
}

function presentTried(result: TransformResult): z.infer<typeof triedSchema> {
  const { kind: outcome, logs, tookMs } = result;
  const common = { logs, duration_ms: Math.round(tookMs * 1_000) / 1_000 };
  if (result.kind === 'made')
    return { outcome, body: result.body, headers: result.headers, error: null, ...common };
  if (result.kind === 'cancelled') return { outcome, body: null, headers: null, error: null, ...common };
  const { message, line = null, column = null } = result.fault;
  return { outcome, body: null, headers: null, error: { message, line, column }, ...common };
}

const templateSchema = z
  .object({
    name: z.string().describe('The name of the template.'),
    title: z.string().describe('The receiver that the template is for.'),
    form: z.string().meta({ format: 'uri' }).describe("The receiver's own documentation of its format."),
    code: z.string().describe('The code of the template, in JavaScript.'),
  })
  .meta({ id: 'TransformationTemplate' });

export const listTransformationTemplates = defineRoute({
  operationId: 'listTransformationTemplates',
  summary: 'List templates of transformations',
  method: 'get',
  path: '/v1/transformations/templates',
  scope: 'any',
  request: {},
  responses: {
    200: {
      description: 'Code to start with, for common receivers.',
      schema: pageOf(templateSchema, 'TransformationTemplatePage'),
    },
  },
  async handle() {
    return { status: 200, body: presentPage(transformationTemplates, undefined) };
  },
});
