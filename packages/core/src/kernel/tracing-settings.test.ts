import { z } from 'zod';
import { caughtFrom } from '../testing/caught-from';
import { ConfigError, readConfig } from './environment';
import { tracingSettings } from './tracing-settings';

const read = (environment: Readonly<Record<string, string>>) =>
  readConfig(z.object(tracingSettings), environment);

it.each([
  ['api-key=abc', { 'api-key': 'abc' }],
  [
    'Authorization=Basic%20dXNlcjpwYXNz, x-tenant = 1',
    { Authorization: 'Basic dXNlcjpwYXNz', 'x-tenant': '1' },
  ],
  // As many write it: not encoded.
  ['authorization=Basic dXNlcjpwYXNzMQ==', { authorization: 'Basic dXNlcjpwYXNzMQ==' }],
  ['discount=50%', { discount: '50%' }],
])('reads the headers %s', (text, headers) => {
  expect(read({ OTEL_EXPORTER_OTLP_HEADERS: text }).OTEL_EXPORTER_OTLP_HEADERS).toEqual(headers);
});

it.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317', 'such as http://127.0.0.1:4318'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'must be http/json'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'api-key', 'name=value,name=value'],
  ['OTEL_TRACES_SAMPLER', 'sometimes', 'OTEL_TRACES_SAMPLER: '],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5', 'OTEL_TRACES_SAMPLER_ARG: '],
])('says what is wrong with %s=%s', (name, value, words) => {
  const error = caughtFrom(() => read({ [name]: value }));
  expect(error).toBeInstanceOf(ConfigError);
  expect(String(error)).toContain(words);
});
