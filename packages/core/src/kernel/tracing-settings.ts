import { z } from 'zod';
import { flagSchema } from './common-settings';

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof samplers)[number];

const PAIRS_FORM = 'must be name=value,name=value, with what is special in them percent-encoded';

/** What OpenTelemetry has for headers and attributes: pairs with commas between them, percent-encoded. */
const pairsSchema = z.string().transform((text, context) => {
  const pairs: Record<string, string> = {};
  for (const pair of text.split(',')) {
    // A value may have more of them: the end of what is in Base64.
    const equals = pair.indexOf('=');
    if (equals < 1) {
      context.addIssue({ code: 'custom', message: PAIRS_FORM });
      return z.NEVER;
    }
    pairs[decoded(pair.slice(0, equals).trim())] = decoded(pair.slice(equals + 1).trim());
  }
  return pairs;
});

/** Whether and where traces are sent, by the names that OpenTelemetry has for it. */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, error: 'must be an http: or https: URL, such as http://127.0.0.1:4318' })
    .optional()
    .describe(
      'a collector that [traces](tracing.md) are sent to, `http://…:4318`; unless set, there are none',
    ),
  OTEL_EXPORTER_OTLP_HEADERS: pairsSchema
    .optional()
    .describe('headers for it, such as a key: `name=value,name=value`, percent-encoded'),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .literal('http/json', 'must be http/json: collectors take it at the port for http/protobuf')
    .default('http/json')
    .describe('how they are sent; there is no other'),
  OTEL_SERVICE_NAME: z
    .string()
    .optional()
    .describe('whose they are; `hookferry-api` and `hookferry-worker` unless set'),
  OTEL_RESOURCE_ATTRIBUTES: pairsSchema
    .optional()
    .describe('what else all of them say, in the same form as headers'),
  OTEL_TRACES_SAMPLER: z
    .enum(samplers)
    .default('parentbased_always_on')
    .describe(
      'which are sent: `always_on`, `always_off`, `traceidratio`, or by what the caller has decided: each of them with `parentbased_` before it',
    ),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('how many of them, for those by ratio; `0.01`: one of a hundred'),
  OTEL_SDK_DISABLED: flagSchema.default(false).describe('`true`: none, whatever else is set'),
};

export type TracingConfig = z.infer<z.ZodObject<typeof tracingSettings>>;

// A value that is not well encoded stands for itself: many who write them don't know that they are encoded at all.
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
