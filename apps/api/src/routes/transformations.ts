import { endpointRefSchema } from '@hookferry/core/domain/endpoint';
import { EVENT_TYPE_NAME_FORM, eventIdSchema } from '@hookferry/core/domain/event';
import { readEndpoint } from '@hookferry/core/endpoints/manage-endpoints';
import type { SavedVersion } from '@hookferry/core/endpoints/redis-transformation-store';
import { keywordQuickWin } from '@hookferry/core/event-types/built-in';
import { type TryTransformationSource, tryTransformation } from '@hookferry/core/history/try-transformation';
import { formatTime, timeSchema } from '@hookferry/core/platform/clock';
import {
  codeSchema,
  listVersions,
  putTransformation,
  readTransformation,
  removeTransformation,
  restoreVersion,
  type Transformation,
} from '@hookferry/core/transform/manage-transformations';
import type { TransformResult } from '@hookferry/core/transform/run-transformation';
import { transformationTemplates } from '@hookferry/core/transform/templates';
import { z } from 'zod';
import { requireScope } from '../http/authenticate';
import { defineRoute } from '../http/route';

const webhookParams = z.object({ id: endpointRefSchema });
const versionParams = z.object({
  id: endpointRefSchema,
  version: z.coerce.number().int().min(1).describe('The version: 1, 2, …'),
});

const EXAMPLE =
  'export default function (event) {\n  return { body: { text: `${event.type}: ${event.data.keyword}` } };\n}\n';

const newTransformationSchema = z
  .strictObject({
    code: codeSchema.describe('JavaScript: a module whose default export is a function of the event.'),
    enabled: z.boolean().default(true).describe('Whether deliveries go through it.'),
  })
  .meta({ id: 'NewTransformation' });

const versionShape = {
  version: z.int().min(1).describe('1, 2, …: each change of the code is a new one.'),
  code: z.string().describe('JavaScript.'),
  saved_at: timeSchema.describe('When it was saved.'),
  saved_by: z.string().describe('The id of the API key or the portal session that saved it.'),
};
const versionSchema = z.object(versionShape).meta({ id: 'TransformationVersion' });
const transformationSchema = z
  .object({
    webhook_id: z.string().describe('The webhook that it belongs to.'),
    enabled: z.boolean().describe('Whether deliveries go through it.'),
    ...versionShape,
  })
  .meta({ id: 'Transformation' });

function presentVersion({ version, code, savedAt, savedBy }: SavedVersion) {
  return { version, code, saved_at: formatTime(savedAt), saved_by: savedBy };
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
  audit: 'webhook.put_transformation',
  request: {
    params: webhookParams,
    body: newTransformationSchema,
    example: { code: EXAMPLE, enabled: true },
  },
  stores: 'other',
  responses: current,
  async handle({ apiKey, params, body, act }, context) {
    const { code, enabled: isEnabled } = body;
    const by = { savedBy: apiKey.id, act };
    const put = await putTransformation(context, apiKey.accountId, params.id, { code, isEnabled }, by);
    return { status: 200, body: present(put) };
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
  async handle({ apiKey, params }, context) {
    return { status: 200, body: present(await readTransformation(context, apiKey.accountId, params.id)) };
  },
});

export const deleteWebhookTransformation = defineRoute({
  operationId: 'deleteTransformation',
  summary: "Remove a webhook's transformation",
  method: 'delete',
  path: '/v1/webhooks/:id/transformation',
  scope: 'webhooks:write',
  audit: 'webhook.delete_transformation',
  request: { params: webhookParams },
  responses: { 204: { description: 'The webhook gets events as they are again. The versions stay.' } },
  async handle({ apiKey, params, act }, context) {
    await removeTransformation(context, apiKey.accountId, params.id, act);
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
      description: 'The last 20 versions, the newest first.',
      schema: z
        .object({ data: z.array(versionSchema).describe('The newest first.') })
        .meta({ id: 'TransformationVersions' }),
    },
  },
  async handle({ apiKey, params }, context) {
    const versions = await listVersions(context, apiKey.accountId, params.id);
    return { status: 200, body: { data: versions.map(presentVersion) } };
  },
});

export const restoreTransformationVersion = defineRoute({
  operationId: 'restoreTransformationVersion',
  summary: 'Go back to an earlier version of the code',
  method: 'post',
  path: '/v1/webhooks/:id/transformation/versions/:version/restore',
  scope: 'webhooks:write',
  audit: 'webhook.restore_transformation',
  request: { params: versionParams },
  responses: current,
  async handle({ apiKey, params, act }, context) {
    const by = { savedBy: apiKey.id, act };
    const restored = await restoreVersion(context, apiKey.accountId, params.id, params.version, by);
    return { status: 200, body: present(restored) };
  },
});

const givenEventSchema = z
  .strictObject({
    type: z.string().min(1).describe('Its type: any text.'),
    data: z.unknown().describe('Its data: any JSON.'),
  })
  .meta({ id: 'TransformationEvent' });

const sourceShape = {
  event: givenEventSchema.optional().describe('An event of your own.'),
  event_id: eventIdSchema.optional().describe('An event of the account.'),
  type: z.string().meta(EVENT_TYPE_NAME_FORM).optional().describe('The example of this event type.'),
};

const WAYS = ['event', 'event_id', 'type'] as const;

function requireOneSource(body: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void {
  const [first, ...others] = WAYS.filter((way) => body[way] !== undefined);
  if (first === undefined) {
    context.addIssue({ code: 'custom', path: ['type'], message: 'is needed, or "event", or "event_id"' });
  }
  for (const member of others) {
    context.addIssue({ code: 'custom', path: [member], message: `can't be given beside "${first}"` });
  }
}

const newTrialSchema = z
  .strictObject({ code: codeSchema.describe('The code to try.'), ...sourceShape })
  .superRefine(requireOneSource)
  .meta({ id: 'NewTransformationTrial' });
const trialSchema = z
  .strictObject({
    code: codeSchema.optional().describe("To try in place of the webhook's own code."),
    ...sourceShape,
  })
  .superRefine(requireOneSource)
  .meta({ id: 'TransformationTrial' });

const triedSchema = z
  .object({
    outcome: z
      .enum(['made', 'cancelled', 'failed'])
      .describe(
        '`made`: there is a body to send; `cancelled`: the code wants nothing sent; `failed`: see `error`.',
      ),
    body: z.string().nullable().describe('The body that would be sent.'),
    headers: z.record(z.string(), z.string()).nullable().describe('The headers that would be added.'),
    error: z
      .object({
        message: z.string().describe('What is wrong.'),
        line: z.int().nullable().describe('1, 2, …; null: nobody knows where.'),
        column: z.int().nullable().describe('1, 2, …'),
      })
      .nullable()
      .describe('What is wrong with the code, and where.'),
    logs: z.array(z.string()).readonly().describe('What it printed with `console.log`: 4 KB at most.'),
    duration_ms: z.number().min(0).describe('The processor time that it took.'),
  })
  .meta({ id: 'TransformationTried' });

const tried = { 200: { description: 'What came of it. Nothing is sent.', schema: triedSchema } };

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
    example: { code: EXAMPLE, type: keywordQuickWin.name },
  },
  responses: tried,
  problems: ['history_unavailable'],
  isHeavy: true,
  async handle({ apiKey, params, body }, context) {
    const source = sourceOf(body);
    // The response shows parts of the event.
    if (source.kind === 'event') requireScope(apiKey, 'deliveries:read');
    const { accountId } = apiKey;
    const endpoint = await readEndpoint(context, accountId, params.id);
    const code = body.code ?? (await readTransformation(context, accountId, params.id)).code;
    return {
      status: 200,
      body: presentTried(await tryTransformation(context, accountId, { code, source, endpoint })),
    };
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
    example: { code: EXAMPLE, type: keywordQuickWin.name },
  },
  responses: tried,
  problems: ['history_unavailable'],
  isHeavy: true,
  async handle({ apiKey, body }, context) {
    const source = sourceOf(body);
    if (source.kind === 'event') requireScope(apiKey, 'deliveries:read');
    const result = await tryTransformation(context, apiKey.accountId, { code: body.code, source });
    return { status: 200, body: presentTried(result) };
  },
});

function sourceOf({
  event,
  event_id: id,
  type,
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
    name: z.string().describe('Its name.'),
    title: z.string().describe('The receiver that it is for.'),
    form: z.string().meta({ format: 'uri' }).describe("The receiver's own description of its form."),
    code: z.string().describe('JavaScript.'),
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
      description: 'Code to begin with, for receivers whose form is known.',
      schema: z
        .object({ data: z.array(templateSchema).describe('One for each kind of receiver.') })
        .meta({ id: 'TransformationTemplates' }),
    },
  },
  async handle() {
    return { status: 200, body: { data: transformationTemplates } };
  },
});
